"""Stalls in every phase, every deadline, every stop: the transport is closed first, the record tells it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from streaming.providers.attempt import Attempt
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_parts import Say
from streaming.providers.scripted_signal import Barrier
from streaming.providers.types import Protocol
from tests.integration.providers.stalls import PHASES, SOON, Stall, stalled, stalling
from tests.support.provider_attempts import PROTOCOLS, ask, profile, provider_client, run


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stall", ["headers", "first_event"])
async def test_no_first_event_in_time_fails_the_attempt(protocol: Protocol, stall: Stall) -> None:
    async with stalled(stall, protocol, first_event_timeout=100) as held:
        outcome = await held.overtaken_by(100)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("first_event_timeout", True)
    assert_failed(outcome.record, scope="first_event", phase="waiting_first_event")
    assert outcome.record["first_event_at"] is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stall", ["text", "thinking", "arguments", "comments"])
async def test_silence_between_events_fails_the_attempt_and_comments_are_silence(
    protocol: Protocol, stall: Stall
) -> None:
    async with stalled(stall, protocol, idle_timeout=100) as held:
        outcome = await held.overtaken_by(100)
    assert outcome.error is not None
    assert outcome.error.code == "idle_timeout"
    assert_failed(outcome.record, scope="idle", phase=PHASES[stall])


@pytest.mark.parametrize("stall", list(PHASES))
async def test_the_whole_request_has_a_deadline(stall: Stall) -> None:
    async with stalled(stall, request_timeout=100) as held:
        outcome = await held.overtaken_by(100)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("request_timeout", True)
    assert_failed(outcome.record, scope="request", phase=PHASES[stall])


@pytest.mark.parametrize("stall", list(PHASES))
async def test_the_deadline_of_the_run_cancels_the_attempt(stall: Stall) -> None:
    async with stalled(stall, run_seconds=100) as held:
        outcome = await held.overtaken_by(100)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("run_timeout", False)
    record = outcome.record
    assert (record["outcome"], record["timeout_scope"]) == ("cancelled", "run")
    assert (record["cancel_phase"], record["failure_phase"]) == (PHASES[stall], None)
    assert record["cancel_reason"] is None
    assert_closed_before_the_end(record)


async def test_a_server_that_accepts_nothing_meets_the_connect_deadline() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(3):  # fills the queue of connections that nobody accepts
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
        waiting.append(one)
    try:
        async with provider_client() as client:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            outcome = await run(client, profile(url, connect_timeout=0.3))
    finally:
        for one in (*waiting, listener):
            one.close()
    assert outcome.error is not None
    assert outcome.error.code == "connect_timeout"
    assert outcome.record["failure_phase"] == "connecting"
    assert outcome.record["timeout_scope"] == "connect"
    assert outcome.record["wire_responses"] == []


@pytest.mark.parametrize("reason", ["user_stop", "superseded", "shutdown", "lease_lost"])
async def test_a_stop_closes_the_transport_and_is_told_with_its_reason(reason: Any) -> None:
    await _stopped("text", reason, "responses")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stall", list(PHASES))
async def test_a_stop_is_told_in_the_phase_it_came_in(stall: Stall, protocol: Protocol) -> None:
    await _stopped(stall, "user_stop", protocol)


async def _stopped(stall: Stall, reason: Any, protocol: Protocol) -> None:
    async with stalled(stall, protocol) as held:
        held.attempt.cancel(reason)
        held.reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await held.reading
        record = held.attempt.record.to_json()
        await asyncio.wait_for(held.request.closed.wait(), SOON)
    assert (record["outcome"], record["cancel_reason"]) == ("cancelled", reason)
    assert (record["cancel_phase"], record["failure_phase"]) == (PHASES[stall], None)
    assert record["error_class"] is None
    assert record["started_at"] <= record["cancel_observed_at"] <= record["ended_at"]
    assert_closed_before_the_end(record)


async def test_a_task_that_is_cancelled_without_a_word_is_a_shutdown() -> None:
    async with stalled("text") as held:
        held.reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await held.reading
    record = held.attempt.record.to_json()
    assert (record["outcome"], record["cancel_reason"]) == ("cancelled", "shutdown")


async def test_a_consumer_that_fails_leaves_a_closed_transport_and_a_failed_record() -> None:
    async with ScriptedProvider(stalling("text", Barrier())) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        with pytest.raises(ZeroDivisionError):
            await _read(attempt, failing=True)
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    record = attempt.record.to_json()
    assert (record["outcome"], record["error_class"]) == ("failed", "ZeroDivisionError")
    assert_closed_before_the_end(record)


async def test_a_stop_after_completion_changes_nothing() -> None:
    async with ScriptedProvider(Reply(Say("Hi"))) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        await _read(attempt)
        before = attempt.record.to_json()
        attempt.cancel("user_stop")
    assert attempt.record.to_json() == before
    assert before["outcome"] == "completed"


async def _read(attempt: Attempt, *, failing: bool = False) -> None:
    async with attempt:
        async for _ in attempt.events():
            if failing:
                raise ZeroDivisionError


def assert_failed(record: dict[str, Any], *, scope: str, phase: str) -> None:
    assert (record["outcome"], record["timeout_scope"]) == ("failed", scope)
    assert (record["failure_phase"], record["cancel_phase"]) == (phase, None)
    assert record["cancel_observed_at"] is None
    assert record["error_class"] == f"{scope}_timeout"
    assert_closed_before_the_end(record)


def assert_closed_before_the_end(record: dict[str, Any]) -> None:
    (wire,) = record["wire_responses"]
    assert wire["opened_at"] <= wire["close_started_at"] <= wire["closed_at"] <= record["ended_at"]
    assert wire["close_error_type"] is None
    assert wire["body_eof_observed"] is False
