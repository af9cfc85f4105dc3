"""Scripted answers in Chat Completions form."""

from __future__ import annotations

import json
from typing import Any

from streaming.providers.scripted_chat import chat_frames, chat_object
from streaming.providers.scripted_parts import Answer, Call, Say, Think

ANSWER = Answer([Think("hm"), Say("text", 2), Call("a", {"k": 1}, "c1", 3), Call("b", {}, "c2")])


def chunks(answer: Answer) -> list[dict[str, Any]]:
    *frames, done = chat_frames(answer)
    assert done == b"data: [DONE]\n\n"
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames]


def test_deltas_add_up_to_the_answer() -> None:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(ANSWER) if chunk["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    arguments = {
        index: "".join(call["function"]["arguments"] for call in calls if call["index"] == index)
        for index in (0, 1)
    }
    assert "".join(delta.get("content") or "" for delta in deltas) == "text"
    assert arguments == {0: '{"k": 1}', 1: "{}"}
    assert [call["id"] for call in calls if "id" in call] == ["c1", "c2"]


def test_it_ends_with_a_finish_and_usage() -> None:
    finish, usage = chunks(ANSWER)[-2:]
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["usage"]["total_tokens"] == 12
    assert "usage" not in chunks(Answer([Say("x")], usage=None))[-1]


def test_the_finish_says_how_it_ended() -> None:
    assert chat_object(Answer([Say("x")]))["choices"][0]["finish_reason"] == "stop"
    assert chat_object(Answer([Say("x")], finish="length"))["choices"][0]["finish_reason"] == "length"


def test_the_whole_object_says_the_same() -> None:
    message = chat_object(ANSWER)["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("text", "hm")
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["a", "b"]
