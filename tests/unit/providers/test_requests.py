"""Requests of both protocols, held to a strict server's rules over histories of every kind."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.requests import build, secrets_of
from streaming.providers.streamless import StreamMode
from streaming.providers.types import (
    AssistantItem,
    CallItem,
    ImagePart,
    Item,
    Profile,
    Protocol,
    ResultItem,
    StepRequest,
    ThinkingItem,
    ToolSpec,
    UserItem,
)
from tests.support.request_checker import faults
from tests.unit.providers.test_history_steps import ITEMS

PROTOCOLS: tuple[Protocol, ...] = ("responses", "chat_completions")
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
PYTHON = ToolSpec("python", "Runs code.", SCHEMA)


def request(
    protocol: Protocol,
    items: list[Item],
    *,
    tools: tuple[ToolSpec, ...] = (PYTHON,),
    mode: StreamMode | None = None,
    base_url: str = "http://127.0.0.1/v1",
    **profile: Any,
) -> tuple[str, dict[str, str], Any]:
    made = build(
        StepRequest("Be brief.", items, tools),
        Profile("p", base_url, protocol, "m", **profile),
        mode or StreamMode(),
    )
    return made.url, made.headers, json.loads(made.body)


def good(protocol: Protocol, items: list[Item], **options: Any) -> Any:
    url, _, body = request(protocol, items, **options)
    assert faults(url, body) == []
    return body


def call(tool_call_id: str, echo: dict[str, Any] | None = None) -> CallItem:
    return CallItem(tool_call_id, "python", '{"code":"1"}', echo)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_33_calls_of_one_step_go_back_with_their_results(protocol: Protocol) -> None:
    calls: list[Item] = [call(f"c{number}") for number in range(33)]
    results: list[Item] = [ResultItem(f"c{number}", f"r{number}") for number in range(33)]
    body = good(protocol, [UserItem("go"), *calls, *results])
    told = json.dumps(body)
    assert all(f'"r{number}"' in told for number in range(33))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_interrupted_and_lost_calls_make_a_good_request(protocol: Protocol) -> None:
    items: list[Item] = [
        UserItem("go"),
        AssistantItem("now"),
        call("a"),
        call("b"),
        call("c"),
        ResultItem("a", "done"),
        ResultItem("b", '{"status":"lost"}'),
        UserItem("go on"),
    ]
    assert "interrupted" in json.dumps(good(protocol, items))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=150)
@given(items=st.lists(ITEMS, min_size=1, max_size=20))
def test_any_history_makes_a_good_request(protocol: Protocol, items: list[Item]) -> None:
    good(protocol, [UserItem("go"), *items])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_long_ids_are_short_on_the_wire_and_equal_in_call_and_result(protocol: Protocol) -> None:
    good(protocol, [UserItem("go"), call("toolu_" + "x" * 80), ResultItem("toolu_" + "x" * 80, "r")])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_images_go_as_data(protocol: Protocol) -> None:
    items: list[Item] = [
        UserItem("look", (ImagePart("image/png", b"PNG"),)),
        UserItem("", (ImagePart("image/gif", b"G"),)),
    ]
    told = json.dumps(good(protocol, items))
    assert "data:image/png;base64," + base64.b64encode(b"PNG").decode() in told


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("strict", [None, True, False])
def test_strict_is_sent_only_where_declared(protocol: Protocol, strict: bool | None) -> None:
    body = good(protocol, [UserItem("go")], tools=(ToolSpec("t", "d", SCHEMA, strict=strict),))
    (tool,) = body["tools"]
    sent = tool if protocol == "responses" else tool["function"]
    assert sent["parameters"] == SCHEMA
    assert sent.get("strict") is strict
    assert ("strict" in sent) is (strict is not None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_tools_none_are_sent(protocol: Protocol) -> None:
    assert "tools" not in good(protocol, [UserItem("go")], tools=())


def test_responses_streams_and_stores_nothing() -> None:
    body = good("responses", [UserItem("go")], max_output_tokens=7)
    assert (body["stream"], body["store"], body["max_output_tokens"]) == (True, False, 7)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "Be brief."


def test_chat_streams_with_usage() -> None:
    body = good("chat_completions", [UserItem("go")], max_output_tokens=7)
    assert (body["stream"], body["stream_options"], body["max_tokens"]) == (True, {"include_usage": True}, 7)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    modern = good(
        "chat_completions", [UserItem("go")], max_output_tokens=7, base_url="https://api.openai.com/v1"
    )
    assert modern["max_completion_tokens"] == 7


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_endpoint_that_does_not_stream_is_not_asked_to(protocol: Protocol) -> None:
    url, headers, body = request(protocol, [UserItem("go")], mode=StreamMode(stream=False))
    assert faults(url, body) == []
    assert body["stream"] is False
    assert headers["accept"] == "application/json"


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


def test_reasoning_content_goes_back_with_calls() -> None:
    items: list[Item] = [UserItem("go"), ThinkingItem("Use the tool."), call("a"), ResultItem("a", "r")]
    assert good("chat_completions", items)["messages"][2]["reasoning_content"] == "Use the tool."


def test_thinking_without_calls_does_not_go_back_in_chat() -> None:
    items: list[Item] = [UserItem("go"), ThinkingItem("hm"), AssistantItem("so"), UserItem("and?")]
    assert good("chat_completions", items)["messages"][2] == {"role": "assistant", "content": "so"}


def test_what_chat_calls_and_messages_brought_goes_back_on_them() -> None:
    details = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}
    signature = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    items: list[Item] = [
        UserItem("go"),
        ThinkingItem("hm", details),
        call("a", signature),
        ResultItem("a", "r"),
    ]
    message = good("chat_completions", items)["messages"][2]
    assert message["reasoning_details"] == details["reasoning_details"]
    assert "reasoning_content" not in message
    assert message["tool_calls"][0]["extra_content"] == signature["extra_content"]


def test_an_echo_never_replaces_what_is_ours() -> None:
    liar = {"id": "x", "function": {"name": "evil"}, "role": "system", "content": "evil", "tool_calls": []}
    items: list[Item] = [UserItem("go"), AssistantItem("so", liar), call("a", liar), ResultItem("a", "r")]
    message = good("chat_completions", items)["messages"][2]
    assert (message["role"], message["content"]) == ("assistant", "so")
    assert message["tool_calls"][0]["function"]["name"] == "python"
    assert message["tool_calls"][0]["id"] == "a"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_history_of_the_other_protocol_leaves_no_trace(protocol: Protocol) -> None:
    foreign: dict[Protocol, dict[str, Any]] = {
        "responses": {"reasoning_details": [{"canary": 1}]},
        "chat_completions": {"type": "reasoning", "id": "canary", "encrypted_content": "canary"},
    }
    items: list[Item] = [
        UserItem("go"),
        ThinkingItem("hm", foreign[protocol]),
        call("a"),
        ResultItem("a", "r"),
    ]
    assert "canary" not in json.dumps(good(protocol, items))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_lone_surrogate_does_not_end_the_run(protocol: Protocol) -> None:
    good(protocol, [UserItem("go"), call("a"), ResultItem("a", "\ud800 half")])


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h/v1", "http://h/v1/responses"),
        ("http://h/v1/", "http://h/v1/responses"),
        ("http://h/v1?api-version=2", "http://h/v1/responses?api-version=2"),
    ],
)
def test_the_path_is_put_behind_the_base_url(base_url: str, url: str) -> None:
    assert request("responses", [UserItem("go")], base_url=base_url)[0] == url


def test_the_profile_adds_headers_but_not_framing() -> None:
    extra = {"X-Team": "blue", "Host": "evil", "Content-Length": "0", "authorization": "Token t"}
    _, headers, _ = request("responses", [UserItem("go")], api_key="secret-key", headers=extra)
    assert headers["x-team"] == "blue"
    assert headers["authorization"] == "Token t"
    assert not {"host", "content-length"} & headers.keys()


def test_without_a_key_no_authorization_is_sent() -> None:
    assert "authorization" not in request("responses", [UserItem("go")])[1]


def test_a_request_shows_neither_key_nor_text() -> None:
    made = build(
        StepRequest("", [UserItem("canary-text")], ()),
        Profile("p", "http://h/v1", "responses", "m", api_key="canary-key"),
        StreamMode(),
    )
    assert "canary" not in repr(made)


def test_secrets_are_keys_and_header_values_and_no_flags() -> None:
    profile = Profile(
        "p", "u", "responses", "m", api_key="sk-long-key", headers={"a": "Token abcdefgh", "b": "1"}
    )
    assert set(secrets_of(profile)) == {"sk-long-key", "Token abcdefgh", "abcdefgh"}
