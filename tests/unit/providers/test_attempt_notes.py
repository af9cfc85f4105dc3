"""What the record learns from events, by a clock that the test holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from streaming.providers.attempt_notes import AttemptNotes
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    Completed,
    StepEvent,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from streaming.providers.record import AttemptRecord
from streaming.providers.types import StepResponse, Usage

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def record() -> AttemptRecord:
    ticks = iter(range(1, 1_000))
    return AttemptRecord(
        "i", "r", 1, 1, "p", "m", "responses", lambda: START + timedelta(seconds=next(ticks)), START, {}
    )


@pytest.mark.parametrize(
    ("event", "phase"),
    [
        (TextDelta("x"), "generating_text"),
        (ThinkingDelta("x"), "generating_thinking"),
        (ArgumentsDelta(0, "x"), "generating_tool_arguments"),
        (UsageReported(Usage()), "connecting"),
    ],
)
def test_the_last_event_says_the_phase(record: AttemptRecord, event: StepEvent, phase: str) -> None:
    AttemptNotes(record).handed_out([event])
    assert record.phase == phase


def test_consumed_arguments_are_counted_as_they_stand(record: AttemptRecord) -> None:
    notes = AttemptNotes(record)
    notes.handed_out([ArgumentsDelta(0, "abc"), ArgumentsDelta(1, "de"), ArgumentsReplaced(0, "x")])
    assert record.tool_argument_chars == 3
    notes.handed_out([ArgumentsDelta(0, "yz"), CallDropped(1)])
    assert record.tool_argument_chars == 3


def test_first_times_stay_first(record: AttemptRecord) -> None:
    notes = AttemptNotes(record)
    notes.event_came()
    notes.handed_out([TextDelta("a"), ArgumentsDelta(0, "b")])
    first = (record.first_event_at, record.first_text_at, record.first_argument_at)
    notes.event_came()
    notes.handed_out([TextDelta("a"), ArgumentsDelta(0, "b")])
    assert (record.first_event_at, record.first_text_at, record.first_argument_at) == first
    assert None not in first


def test_a_gap_is_what_was_waited_between_two_events(record: AttemptRecord) -> None:
    notes = AttemptNotes(record)
    notes.waited(9.0)
    notes.event_came()
    assert record.longest_gap_ms is None
    for waits in ((0.2, 0.3), (0.1,)):
        for seconds in waits:
            notes.waited(seconds)
        notes.event_came()
    assert record.longest_gap_ms == 500


def test_the_usage_of_the_response_is_the_last_word(record: AttemptRecord) -> None:
    notes = AttemptNotes(record)
    notes.handed_out([UsageReported(Usage(input_tokens=1, source="reported"))])
    assert record.usage.input_tokens == 1
    notes.handed_out([Completed(StepResponse(usage=Usage(input_tokens=2, source="reported")))])
    assert record.usage.input_tokens == 2
