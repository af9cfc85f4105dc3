"""Responses, as servers leave parts of it out, repeat it, and lose its ids and indexes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streaming.providers.events import CallIdentified
from streaming.providers.types import StepResponse
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
