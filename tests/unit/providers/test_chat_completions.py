"""Text, thinking, ends, errors and usage of Chat Completions, as vendors vary them."""

from __future__ import annotations

from typing import Any

import pytest

from streaming.providers.events import TextDelta, ThinkingDelta
from streaming.providers.types import StepResponse
from tests.support.decoding import Decoded, call_chunk, chat, chunk, decode, entry

CALL = entry(0, "a", "python", '{"code":"1"}')


def run(*values: object, finish: str | None = "stop", done: bool = True) -> Decoded:
    return decode("chat_completions", [chat(*values, finish=finish, done=done)])


def answer(*values: object, finish: str | None = "stop", done: bool = True) -> StepResponse:
    return run(*values, finish=finish, done=done).response


def failure(*values: object, finish: str | None = "stop", done: bool = True) -> tuple[str, bool]:
    error = run(*values, finish=finish, done=done).error
    assert error is not None
    return error.code, error.retryable


def said(text: object) -> dict[str, Any]:
    return chunk({"content": text})


def message(text: object = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text, **more}, "finish_reason": finish}]}


def test_text_is_told_as_it_comes_and_never_deduplicated() -> None:
    decoded = run(said("ha"), said("ha"), said("haha"))
    told = [event.text for event in decoded.events if isinstance(event, TextDelta)]
    assert told == ["ha", "ha", "haha"]
    assert decoded.response.text == "hahahaha"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "Hi"}],
        [{"type": "text", "text": "H"}, {"type": "output_text", "text": "i"}],
        {"type": "text", "text": "Hi"},
        ["H", "i"],
        [{"type": "image_url", "image_url": {}}, None, 3, {"type": "text", "text": "Hi"}],
    ],
)
def test_content_as_parts_is_text(content: object) -> None:
    assert answer(said(content)).text == "Hi"


@pytest.mark.parametrize("odd", [None, 3, {}, [], [[]], True, {"type": "text", "text": 3}])
def test_odd_content_is_no_text(odd: object) -> None:
    assert answer(said(odd), said("Hi")).text == "Hi"


def test_messages_in_place_of_deltas_are_joined() -> None:
    assert answer(message("ha"), message("ha"), message("!")).text == "haha!"


def test_a_closing_message_repeats_and_completes() -> None:
    closing = message("Hello there.", finish="stop")
    assert answer(said("Hello "), said("there."), closing, finish=None).text == "Hello there."
    assert answer(said("Hello"), closing, finish=None).text == "Hello there."
    assert answer(closing, finish=None).text == "Hello there."


def test_a_closing_message_repeats_calls_and_thinking_too() -> None:
    closing = message("Go.", finish="tool_calls", tool_calls=[CALL], reasoning_content="plan")
    response = answer(
        chunk({"reasoning_content": "plan"}), said("Go."), call_chunk(CALL), closing, finish=None
    )
    assert (response.text, response.thinking, len(response.calls)) == ("Go.", "plan", 1)
    nameless = {"function": CALL["function"]}
    closing = message(None, finish="tool_calls", tool_calls=[nameless])
    assert len(answer(call_chunk(nameless), closing, finish=None).calls) == 1


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thinking_comes_in_either_field_and_goes_back_in_it(field: str) -> None:
    decoded = run(chunk({field: "pl"}), chunk({field: "an"}), said("4"))
    assert [event.text for event in decoded.events if isinstance(event, ThinkingDelta)] == ["pl", "an"]
    assert decoded.response.thinking == "plan"
    assert decoded.response.thinking_echo == ({field: "plan"},)


def test_thinking_in_both_fields_counts_once() -> None:
    both = chunk({"reasoning": "plan", "reasoning_content": "plan"})
    assert answer(both, said("4")).thinking == "plan"


def test_thinking_details_are_told_and_put_together_for_the_echo() -> None:
    def detail(**fields: object) -> dict[str, Any]:
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]})

    sealed = chunk({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "gA"}]})
    response = answer(detail(text="pl"), detail(text="an"), detail(signature="c2ln"), sealed, said("4"))
    assert response.thinking == "plan"
    assert response.thinking_echo == (
        {
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "plan", "signature": "c2ln"},
                {"type": "reasoning.encrypted", "index": 1, "data": "gA"},
            ]
        },
    )


def test_thinking_as_a_content_part_is_thinking() -> None:
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "plan"}]}
    response = answer(said([part]), said([{"type": "text", "text": "4"}]))
    assert (response.thinking, response.text) == ("plan", "4")


def test_thinking_in_tags_is_told_from_the_text_and_not_sent_back() -> None:
    response = answer(said("<th"), said("ink>plan</think>\n\n4"))
    assert (response.thinking, response.text, response.thinking_echo) == ("plan", "4", ())


def test_a_refusal_is_the_answer() -> None:
    response = answer(chunk({"refusal": "I "}), chunk({"refusal": "won't."}))
    assert (response.text, response.refusal) == ("I won't.", True)


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_refusal_is_none(empty: object) -> None:
    assert not answer(chunk({"content": "Hi", "refusal": empty})).refusal
