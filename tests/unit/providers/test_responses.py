"""Responses, as servers leave parts of it out, repeat it, and lose its ids and indexes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streaming.limits import WireLimits
from streaming.providers.events import CallIdentified, TextDelta, UsageReported
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
FIRST, SECOND = ("python", {"code": "1"}), ("python", {"code": "2"})
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


def closed(arguments: str, item_id: str | None = "f1", call_id: str | None = "a", index: object = 0) -> Any:
    return item_event("done", call_item(item_id, call_id, arguments), index)


ONE_CALL = {
    "only deltas": [
        opened(),
        arguments_event("delta", '{"code":', "f1"),
        arguments_event("delta", '"1"}', "f1"),
    ],
    "only arguments.done": [opened(), arguments_event("done", ONE, "f1")],
    "only the item": [closed(ONE)],
    "only the item, opened before": [opened(), closed(ONE)],
    "deltas cut short, then done": [
        opened(),
        arguments_event("delta", '{"co', "f1"),
        arguments_event("done", ONE, "f1"),
    ],
    "deltas that were wrong, then done": [
        opened(),
        arguments_event("delta", '{"xx', "f1"),
        arguments_event("done", ONE, "f1"),
    ],
    "done, then emptied": [opened(), arguments_event("done", ONE, "f1"), closed("")],
    "deltas without an announced item": [
        arguments_event("delta", '{"code":', "f1"),
        arguments_event("delta", '"1"}', "f1"),
        closed(ONE),
    ],
    "announced behind its deltas": [arguments_event("delta", ONE, "f1"), opened(), closed(ONE)],
    "an id for each event": [
        opened("x1"),
        arguments_event("delta", '{"code":', "x2"),
        arguments_event("delta", '"1"}', "x3"),
        arguments_event("done", ONE, "x4"),
        closed(ONE, "x5"),
    ],
    "an id for each event and no call id": [
        opened("x1", None),
        arguments_event("delta", ONE, "x2"),
        closed(ONE, "x3", None),
    ],
    "no index": [opened(index=None), arguments_event("delta", ONE, "f1", None), closed(ONE, index=None)],
    "an index of another count": [
        opened(index=2),
        arguments_event("delta", ONE, "", 0),
        closed(ONE, index=2),
    ],
    "arguments as an object": [item_event("done", {**call_item("f1", "a", ""), "arguments": {"code": "1"}})],
    "arguments encoded twice": [closed(json.dumps(ONE))],
    "a placeholder in the head": [
        item_event("added", call_item("f1", "a", "{}")),
        arguments_event("delta", '{"code":', "f1"),
        arguments_event("delta", '"1"}', "f1"),
        closed(ONE),
    ],
    "cumulative deltas": [
        opened(),
        arguments_event("delta", '{"co', "f1"),
        arguments_event("delta", ONE, "f1"),
        closed(ONE),
    ],
    "done twice": [opened(), closed(ONE), closed(ONE)],
    "announced twice": [opened(), opened(), closed(ONE)],
    "announced twice under two ids": [closed(ONE), closed(ONE, "f2", "a", 1)],
}


@pytest.mark.parametrize("events", ONE_CALL.values(), ids=ONE_CALL.keys())
@pytest.mark.parametrize(
    "output",
    [(), (call_item("f1", "a", ONE),), (call_item("f1", "a", ""),), (call_item("zz", None, ONE),)],
    ids=["no output", "output", "emptied output", "output with other ids"],
)
def test_one_call_stays_one(events: list[object], output: tuple[dict[str, Any], ...]) -> None:
    assert run(*events, completed(*output)).calls == [FIRST]


def test_the_terminal_response_alone_is_an_answer() -> None:
    decoded = run(completed(message_item("m", "Hm."), call_item("f1", "a", ONE)))
    assert (decoded.response.text, decoded.calls) == ("Hm.", [FIRST])


TWO_CALLS = {
    "one after the other": [opened(), closed(ONE), opened("f2", "b", 1), closed(TWO, "f2", "b", 1)],
    "all at index 0": [opened(), closed(ONE), opened("f2", "b"), closed(TWO, "f2", "b")],
    "interleaved": [
        opened(),
        opened("f2", "b", 1),
        arguments_event("delta", '{"code":', "f2", 1),
        arguments_event("delta", '{"code":', "f1"),
        arguments_event("delta", '"2"}', "f2", 1),
        arguments_event("delta", '"1"}', "f1"),
    ],
    "interleaved at index 0": [
        opened(),
        opened("f2", "b"),
        arguments_event("delta", '{"code":', "f2"),
        arguments_event("delta", '{"code":', "f1"),
        arguments_event("delta", '"2"}', "f2"),
        arguments_event("delta", '"1"}', "f1"),
    ],
    "index by index, ids all new": [
        opened("x1"),
        opened("x2", "b", 1),
        arguments_event("delta", TWO, "x3", 1),
        arguments_event("delta", ONE, "x4"),
        closed(ONE, "x5"),
        closed(TWO, "x6", "b", 1),
    ],
    "one call id for both": [opened(), closed(ONE), opened("f2", "a", 1), closed(TWO, "f2", "a", 1)],
    "done in the other order": [
        opened(),
        opened("f2", "b", 1),
        closed(TWO, "f2", "b", 1),
        closed(ONE),
    ],
    "opened in the other order": [opened("f2", "b", 1), opened(), closed(TWO, "f2", "b", 1), closed(ONE)],
}


@pytest.mark.parametrize("events", TWO_CALLS.values(), ids=TWO_CALLS.keys())
@pytest.mark.parametrize("listed", [False, True])
def test_two_calls_stay_two_in_output_order(events: list[object], listed: bool) -> None:
    second = "a" if events is TWO_CALLS["one call id for both"] else "b"
    output = [call_item("f1", "a", ONE), call_item("f2", second, TWO)] if listed else []
    assert run(*events, completed(*output)).calls == [FIRST, SECOND]


def test_an_item_id_serves_where_no_call_id_came() -> None:
    decoded = run(opened("f1", None), closed(ONE, "f1", None), DONE)
    assert decoded.response.calls[0].native_id == "f1"
    assert CallIdentified(0, "python", "f1") in decoded.events


def test_a_call_without_a_name_is_no_call() -> None:
    events = [arguments_event("delta", ONE, "f9"), text_event("delta", "Hi"), DONE]
    assert answer(*events).calls == ()


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
