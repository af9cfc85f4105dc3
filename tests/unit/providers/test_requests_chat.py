"""What is particular to a Chat Completions request."""

from __future__ import annotations

from streaming.providers.types import (
    AssistantItem,
    Item,
    ResultItem,
    ThinkingItem,
    UserItem,
)
from tests.support.provider_requests import call, good


def test_chat_streams_with_usage() -> None:
    body = good("chat_completions", [UserItem("go")], max_output_tokens=7)
    assert (body["stream"], body["stream_options"], body["max_tokens"]) == (True, {"include_usage": True}, 7)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    modern = good(
        "chat_completions", [UserItem("go")], max_output_tokens=7, base_url="https://api.openai.com/v1"
    )
    assert modern["max_completion_tokens"] == 7


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
