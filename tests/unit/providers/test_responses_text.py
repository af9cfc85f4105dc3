"""Text, thinking, ends and errors of Responses."""

from __future__ import annotations

from typing import Any

import pytest

from streaming.limits import WireLimits
from streaming.providers.events import TextDelta, UsageReported
from streaming.providers.types import StepResponse, Usage
from tests.support.decoding import (
    Decoded,
    arguments_event,
    call_item,
    completed,
    decode,
    item_event,
    message_item,
    sse,
    text_event,
)

ONE, TWO = '{"code":"1"}', '{"code":"2"}'
DONE = completed()


def run(*events: object) -> Decoded:
    return decode("responses", [sse(*events)])


def answer(*events: object) -> StepResponse:
    return run(*events).response


def failure(*events: object) -> tuple[str, bool]:
    error = run(*events).error
    assert error is not None
    return error.code, error.retryable


def opened(item_id: str | None = "f1", call_id: str | None = "a", index: object = 0) -> dict[str, Any]:
    return item_event("added", call_item(item_id, call_id, ""), index)


def test_text_counts_once_however_often_it_is_told() -> None:
    item = message_item("m", "hello")
    decoded = run(
        item_event("added", message_item("m")),
        text_event("delta", "hel"),
        text_event("delta", "lo"),
        text_event("done", "hello"),
        {"type": "response.content_part.done", "item_id": "m", "output_index": 0, "part": item["content"][0]},
        item_event("done", item),
        completed(item),
    )
    assert [event.text for event in decoded.events if isinstance(event, TextDelta)] == ["hel", "lo"]
    assert decoded.response.text == "hello"


@pytest.mark.parametrize(
    "events",
    [
        [text_event("done", "hello")],
        [text_event("delta", "hel"), text_event("done", "hello")],
        [item_event("done", message_item("m", "hello"))],
        [text_event("delta", "hel"), item_event("done", message_item("m", "hel", "lo"))],
        [
            text_event("delta", "hel", "x1"),
            text_event("delta", "lo", "x2"),
            text_event("done", "hello", "x3"),
        ],
        [text_event("delta", "hello", part=0), text_event("done", "hello", part=1)],
        [text_event("delta", {"text": "hello"})],
    ],
)
@pytest.mark.parametrize("listed", [False, True])
def test_text_is_whole_whichever_event_tells_it(events: list[object], listed: bool) -> None:
    output = [message_item("m", "hello")] if listed else []
    assert answer(*events, completed(*output)).text == "hello"


def test_two_messages_are_both_text() -> None:
    one, two = message_item("m1", "Go. "), message_item("m2", "Went.")
    response = answer(
        text_event("delta", "Go. ", "m1"),
        item_event("done", one),
        text_event("delta", "Went.", "m2", 1),
        item_event("done", two, 1),
        completed(one, two),
    )
    assert response.text == "Go. Went."


def test_summaries_and_raw_reasoning_of_one_item_are_not_told_twice() -> None:
    def thought(kind: str, index: str, text: str, at: int = 0) -> dict[str, Any]:
        return {"type": f"response.{kind}.delta", "item_id": "r", "output_index": 0, index: at, "delta": text}

    item = {
        "type": "reasoning",
        "id": "r",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}],
        "encrypted_content": "gA",
    }
    response = answer(
        thought("reasoning_summary_text", "summary_index", "first"),
        thought("reasoning_text", "content_index", "raw"),
        thought("reasoning_summary_text", "summary_index", "sec", 1),
        thought("reasoning_summary_text", "summary_index", "ond", 1),
        item_event("done", item),
        text_event("delta", "Hi", index=1),
        completed(item, message_item("m", "Hi")),
    )
    assert response.thinking == "first\n\nsecond"
    assert response.thinking_echo == (item,)
    assert response.text == "Hi"


def test_a_reasoning_item_keeps_its_encrypted_content() -> None:
    sealed = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "gA"}
    bare = {"type": "reasoning", "id": "r", "summary": []}
    hello = message_item("m", "Hi")
    assert answer(item_event("done", sealed), completed(bare, hello)).thinking_echo == (sealed,)
    assert answer(item_event("done", bare), completed(sealed, hello)).thinking_echo == (sealed,)


def test_thinking_only_in_the_item_is_told() -> None:
    item = {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "plan"}]}
    assert answer(item_event("done", item), text_event("delta", "Hi", index=1), DONE).thinking == "plan"


def test_a_refusal_is_the_answer_and_counts_once() -> None:
    refusal = {"type": "refusal", "refusal": "No."}
    response = answer(
        {"type": "response.refusal.delta", "item_id": "m", "output_index": 0, "delta": "No."},
        {"type": "response.refusal.done", "item_id": "m", "output_index": 0, "refusal": "No."},
        completed({"type": "message", "id": "m", "content": [refusal]}),
    )
    assert (response.text, response.refusal) == ("No.", True)


@pytest.mark.parametrize(
    "unknown",
    [
        {"type": "response.some_new_thing.delta", "delta": "x"},
        item_event("added", {"type": "web_search_call", "id": "ws", "status": "in_progress"}),
        item_event("done", {"type": "custom_tool_call", "id": "ct", "name": "python", "input": "x"}),
        {"type": "response.output_item.added", "item": None},
        {"type": "response.output_text.delta", "delta": None},
        {"type": "response.output_text.annotation.added", "annotation": {}},
        {"type": "ping"},
        {"type": "keepalive", "sequence_number": 3},
        {"type": None},
        {"type": ["x"]},
    ],
)
def test_unknown_events_and_items_are_passed_over(unknown: object) -> None:
    assert answer(unknown, text_event("delta", "Hi"), unknown, DONE).text == "Hi"


def test_an_incomplete_response_keeps_text_and_runs_nothing_half_written() -> None:
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    response = answer(text_event("delta", "Half"), completed(status="incomplete", **details))
    assert (response.text, response.truncated, response.finish) == ("Half", True, "max_output_tokens")
    half = [opened(), arguments_event("delta", '{"code":"pri', "f1")]
    assert failure(*half, completed(status="incomplete", **details)) == ("response_truncated", False)
    unlucky = {**call_item("f1", "a", ONE), "status": "incomplete"}
    assert failure(completed(unlucky, status="incomplete")) == ("response_truncated", False)
    assert failure(opened(), completed(status="incomplete")) == ("response_truncated", False)
    assert failure(completed(status="incomplete")) == ("response_truncated", False)


def test_a_filtered_response_is_final() -> None:
    details = {"incomplete_details": {"reason": "content_filter"}}
    assert failure(completed(status="incomplete", **details)) == ("content_policy", False)


def test_a_status_inside_the_terminal_event_counts() -> None:
    failed = {"status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []}
    assert failure({"type": "response.completed", "response": failed}) == ("server_error", True)
    half = {"status": "incomplete", "output": [message_item("m", "Half")]}
    assert answer({"type": "response.done", "response": half}).truncated


@pytest.mark.parametrize(
    ("event", "code", "retryable"),
    [
        ({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "m"}}, "rate_limited", True),
        ({"type": "error", "code": "server_error", "message": "m"}, "server_error", True),
        ({"type": "error"}, "provider_error", True),
        ({"type": "error", "message": "Your input exceeds the context window"}, "context_too_long", False),
        ({"type": "response.error", "error": {"code": "insufficient_quota"}}, "quota_exhausted", False),
        ({"error": {"type": "invalid_request_error", "message": "m"}}, "request_rejected", False),
        (
            completed(status="failed", error={"code": "invalid_prompt", "message": "m"}),
            "content_policy",
            False,
        ),
        (completed(status="failed", error=None), "server_error", True),
        ({"type": "response.failed"}, "server_error", True),
        ({"type": "response.cancelled", "response": {}}, "response_ended_early", True),
        ("[DONE]", "response_ended_early", True),
        (DONE, "response_empty", True),
    ],
)
def test_an_error_ends_the_response(event: object, code: str, retryable: bool) -> None:
    assert failure(event) == (code, retryable)
    if event is not DONE:
        assert failure(opened(), arguments_event("delta", '{"co', "f1"), event) == (code, retryable)


def test_the_event_line_gives_the_type_that_the_data_lacks() -> None:
    data = b'event: response.output_text.delta\ndata: {"delta":"Hi"}\n\n'
    data += b'event: response.completed\ndata: {"response":{"output":[]}}\n\n'
    assert decode("responses", [data]).response.text == "Hi"


def test_the_terminal_event_finishes_and_what_follows_is_ignored() -> None:
    decoded = run(text_event("delta", "Hi"), DONE, {"type": "error"}, "garbage")
    assert decoded.response.text == "Hi"


def test_usage_is_told_and_kept() -> None:
    usage = {"input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}}
    decoded = run(text_event("delta", "Hi"), completed(usage=usage))
    assert decoded.response.usage == Usage(5, 7, None, 3, None, "reported")
    assert UsageReported(decoded.response.usage) in decoded.events


def test_more_items_than_a_response_may_have_end_it() -> None:
    events = [item_event("added", message_item(f"m{number}"), number) for number in range(5)]
    assert decode("responses", [sse(*events, DONE)], limits=WireLimits(calls=1)).error is not None
    decoded = decode(
        "responses", [sse(*events[:4], text_event("delta", "Hi"), DONE)], limits=WireLimits(calls=1)
    )
    assert decoded.error is None
