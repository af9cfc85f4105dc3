"""What is particular to a Responses request."""

from __future__ import annotations

from streaming.providers.types import (
    AssistantItem,
    Item,
    ResultItem,
    ThinkingItem,
    UserItem,
)
from tests.support.provider_requests import call, good


def test_responses_streams_and_stores_nothing() -> None:
    body = good("responses", [UserItem("go")], max_output_tokens=7)
    assert (body["stream"], body["store"], body["max_output_tokens"]) == (True, False, 7)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "Be brief."


def test_a_reasoning_item_goes_back_unchanged_before_its_call() -> None:
    echo = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    items: list[Item] = [UserItem("go"), ThinkingItem("hm", echo), call("a"), ResultItem("a", "r")]
    body = good("responses", items)
    assert body["input"][1] == echo
    assert [item["type"] for item in body["input"][2:]] == ["function_call", "function_call_output"]


def test_a_reasoning_item_that_only_the_server_could_know_stays_here() -> None:
    echo = {"type": "reasoning", "id": "rs_1", "summary": []}
    items: list[Item] = [UserItem("go"), ThinkingItem("hm", echo), AssistantItem("so", {"phase": "final"})]
    body = good("responses", items)
    assert [item["type"] for item in body["input"]] == ["message", "message"]
    assert body["input"][1]["phase"] == "final"


def test_each_output_stands_behind_its_call() -> None:
    items: list[Item] = [UserItem("go"), call("a"), call("b"), ResultItem("b", "2"), ResultItem("a", "1")]
    kinds = [(item["type"], item.get("call_id")) for item in good("responses", items)["input"][1:]]
    both = ("function_call", "function_call_output")
    assert kinds == [(kind, name) for name in ("a", "b") for kind in both]
