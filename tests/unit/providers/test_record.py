"""The record of an attempt through its whole life, by a clock that the test holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from streaming.providers.record import AttemptRecord, WireResponse, request_constraints
from streaming.providers.types import Profile, ToolSpec

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FIELDS = {
    "id", "run_id", "step", "attempt", "provider", "model", "protocol", "started_at", "ended_at", "outcome",
    "phase", "failure_phase", "cancel_phase", "error_class", "http_status", "cancel_reason",
    "cancel_observed_at", "timeout_scope", "tool_argument_chars", "stream_guard", "wire_request_constraints",
    "wire_responses", "first_event_at", "first_text_at", "first_argument_at", "longest_gap_ms",
    "last_byte_at", "usage", "usage_source", "retry_cause", "retry_delay_ms",
}  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


@pytest.fixture
def record() -> AttemptRecord:
    profile = Profile("p", "u", "responses", "m")
    return AttemptRecord(
        "id", "run", 1, 1, "p", "m", "responses", Clock(), START, request_constraints(profile, [])
    )


def test_it_has_every_field_of_the_contract_and_no_other(record: AttemptRecord) -> None:
    shown = record.to_json()
    assert set(shown) == FIELDS
    assert json.loads(json.dumps(shown)) == shown
    assert shown["started_at"] == "2026-01-02T03:04:05.000000Z"


def test_a_failed_attempt_lasts_through_its_retry_wait(record: AttemptRecord) -> None:
    record.phase = "generating_text"
    record.error_class = "overloaded"
    record.fail()
    first_end = record.to_json()["ended_at"]
    record.retry_wait("overloaded", 1.25)
    waiting = record.to_json()
    assert (waiting["phase"], waiting["outcome"], waiting["ended_at"]) == ("retry_wait", "failed", None)
    assert (waiting["retry_cause"], waiting["retry_delay_ms"]) == ("overloaded", 1_250)
    record.ended()
    shown = record.to_json()
    assert shown["ended_at"] > first_end
    assert (shown["outcome"], shown["failure_phase"]) == ("failed", "generating_text")
    assert (shown["cancel_phase"], shown["cancel_observed_at"]) == (None, None)


@pytest.mark.parametrize("early", [True, False])
def test_a_stop_in_the_retry_wait_cancels_and_says_where(record: AttemptRecord, early: bool) -> None:
    record.error_class = "overloaded"
    record.fail()
    record.retry_wait("overloaded", 1.0)
    if early:
        record.observe_cancel("user_stop")
        record.ended()
    else:
        record.ended("user_stop")
    shown = record.to_json()
    assert (shown["outcome"], shown["cancel_phase"], shown["cancel_reason"]) == (
        "cancelled",
        "retry_wait",
        "user_stop",
    )
    assert (shown["failure_phase"], shown["error_class"]) == (None, "overloaded")
    assert shown["cancel_observed_at"] <= shown["ended_at"]


def test_the_end_of_the_run_in_the_retry_wait_is_a_cancel_by_deadline(record: AttemptRecord) -> None:
    record.fail()
    record.retry_wait("overloaded", 1.0)
    record.ended(run_deadline=True)
    shown = record.to_json()
    assert (shown["outcome"], shown["timeout_scope"], shown["cancel_reason"]) == ("cancelled", "run", None)


def test_the_first_stop_counts(record: AttemptRecord) -> None:
    record.phase = "generating_text"
    record.observe_cancel("user_stop")
    record.phase = "completing"
    record.observe_cancel("shutdown")
    record.cancelled()
    shown = record.to_json()
    assert (shown["cancel_reason"], shown["cancel_phase"]) == ("user_stop", "generating_text")


def test_a_stop_after_the_end_is_none(record: AttemptRecord) -> None:
    record.complete()
    before = record.to_json()
    record.observe_cancel("user_stop")
    assert record.to_json() == before


def test_a_close_that_failed_has_an_error_in_place_of_a_time() -> None:
    wire = WireResponse(START)
    wire.close_error_type = "TimeoutError"
    shown = wire.to_json()
    assert "closed_at" not in shown
    assert shown["close_error_type"] == "TimeoutError"


def test_constraints_count_properties_and_tell_strict() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "no_such"]}
    tools = [ToolSpec("x", "secret words", schema), ToolSpec("y", "", {}, strict=True)]
    shown = request_constraints(Profile("p", "u", "responses", "m", max_output_tokens=5), tools)
    assert shown["max_output_tokens"] == 5
    assert [tool["strict"] for tool in shown["tools"]] == ["omitted", True]
    assert shown["tools"][0]["schema"] == {
        "properties": 3,
        "required_properties": 1,
        "optional_properties": 2,
    }
    assert "secret" not in json.dumps(shown)
