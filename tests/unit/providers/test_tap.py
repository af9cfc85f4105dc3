"""The tap counts a read as a whole, and stops it as a whole."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from streaming.limits import WireLimits
from streaming.providers.errors import WireError
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallIdentified,
    CallOpened,
    StepEvent,
    TextDelta,
    ThinkingDelta,
)
from streaming.providers.record import WireResponse
from streaming.providers.tap import GuardStop, Tap
from streaming.providers.wire_errors import ArgumentOverflow

LIMITS = WireLimits(default_argument_chars=100, runaway_chars=10, text_chars=50, response_bytes=1_000)


def tap(**limits: int) -> tuple[Tap, WireResponse]:
    wire = WireResponse(datetime.now(UTC))
    return Tap(LIMITS, limits, wire), wire


def call(name: str | None, text: str, slot: int = 0) -> list[StepEvent]:
    return [CallOpened(slot), CallIdentified(slot, name, None), ArgumentsDelta(slot, text)]


def stopped(one: Tap, events: list[StepEvent]) -> GuardStop:
    with pytest.raises(GuardStop) as caught:
        one.inspect(events)
    return caught.value


def test_an_unknown_tool_has_the_default_limit() -> None:
    one, _ = tap(python=1_000)
    one.inspect(call("other", "x" * 100))
    guard = stopped(one, [ArgumentsDelta(0, "y")]).guard
    assert (guard.kind, guard.tool, guard.limit, guard.chars) == ("limit", "other", 100, 101)


def test_a_declared_limit_may_be_smaller_or_larger() -> None:
    one, _ = tap(small=10, large=1_000)
    one.inspect([*call("small", "x" * 10), *call("large", "x" * 1_000, slot=1)])
    assert stopped(one, [ArgumentsDelta(0, "y")]).guard.limit == 10


def test_a_call_without_a_name_yet_may_be_any_tool_until_it_is_named() -> None:
    one, _ = tap(large=1_000)
    one.inspect([CallOpened(0), ArgumentsDelta(0, "x" * 500)])
    assert stopped(one, [CallIdentified(0, "other", None)]).guard.chars == 500


@pytest.mark.parametrize("runaway_first", [True, False])
def test_both_in_one_read_is_told_as_limit(runaway_first: bool) -> None:
    one, _ = tap()
    reads = [call("a", " " * 20, slot=0), call("b", "x" * 101, slot=1)]
    events = [event for read in (reads if runaway_first else reversed(reads)) for event in read]
    assert stopped(one, events).guard.kind == "limit"


def test_a_runaway_alone_is_told_as_one() -> None:
    one, _ = tap()
    one.inspect(call("a", "{ " + " " * 8))
    stop = stopped(one, [ArgumentsDelta(0, " ")])
    assert (stop.code, stop.retryable) == ("tool_arguments_runaway", True)
    assert (stop.guard.kind, stop.guard.tool, stop.guard.limit, stop.guard.chars) == ("runaway", "a", 10, 10)


def test_runs_of_different_calls_and_texts_do_not_add_up() -> None:
    one, _ = tap()
    one.inspect(
        [*call("a", " " * 6), *call("b", " " * 6, slot=1), TextDelta(" " * 6), ThinkingDelta(" " * 6)]
    )


def test_text_and_thinking_share_their_limit() -> None:
    one, _ = tap()
    one.inspect([TextDelta("x" * 30)])
    stop = stopped(one, [ThinkingDelta("y" * 30)])
    assert (stop.code, stop.guard.tool, stop.guard.chars) == ("text_too_long", None, 60)


def test_what_was_replaced_is_counted_anew() -> None:
    one, wire = tap()
    one.inspect([*call("a", "x" * 90), ArgumentsReplaced(0, "y" * 20), ArgumentsDelta(0, "z" * 80)])
    assert wire.tools[0].argument_chars == 100
    assert wire.tools[0].argument_delta_events == 2


def test_a_stop_counts_all_of_its_read() -> None:
    one, wire = tap()
    stopped(one, [*call("a", "x" * 101), *call("b", "y" * 7, slot=1)])
    assert [tool.argument_chars for tool in wire.tools.values()] == [101, 7]


def test_an_overflow_of_the_decoder_becomes_a_stop() -> None:
    one, wire = tap(a=100)
    one.inspect(call("a", "x" * 50))
    guard = one.stop_for(ArgumentOverflow("a", 999, 5_000)).guard
    assert (guard.kind, guard.tool, guard.limit, guard.chars) == ("limit", "a", 100, 5_000)
    assert wire.tools[0].argument_chars == 5_000


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 3, 5, 6, 1_000])
def test_events_are_counted_and_comments_are_not(end: bytes, size: int) -> None:
    one, wire = tap()
    lines = [b"data: 1", b"", b": data: no", b"", b"event: x", b"data:2", b"", b""]
    body = (b"" if size == 1 else b"\xef\xbb\xbf") + end.join(lines)
    for start in range(0, len(body), size):
        one.count_bytes(body[start : start + size])
    assert wire.bytes == len(body)
    assert wire.events == 2


def test_bytes_beyond_the_limit_are_an_error() -> None:
    one, _ = tap()
    one.count_bytes(b"x" * 1_000)
    with pytest.raises(WireError) as caught:
        one.count_bytes(b"x")
    assert (caught.value.code, caught.value.retryable) == ("response_too_long", True)


def test_a_name_in_the_record_is_cut() -> None:
    one, wire = tap()
    one.inspect(call("n" * 200, ""))
    assert wire.tools[0].name == "n" * 100


def test_a_stop_quotes_nothing_of_what_it_stopped() -> None:
    one, _ = tap()
    stop = stopped(one, call("a", "canary" * 50))
    assert "canary" not in repr(stop) + str(stop) + stop.detail + repr(stop.guard)
