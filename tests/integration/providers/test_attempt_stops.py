"""Stalls in every phase, every deadline, every stop: the transport is closed first, the record tells it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Literal

import pytest

from streaming.providers.attempt import Attempt
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Part, Say, Think
from streaming.providers.scripted_signal import Barrier
from streaming.providers.types import Protocol
from tests.support.provider_attempts import PROTOCOLS, ask, profile, provider_client, run

Stall = Literal["headers", "first_event", "text", "thinking", "arguments", "comments"]
PHASES = {
    "headers": "waiting_first_event",
    "first_event": "waiting_first_event",
    "text": "generating_text",
    "thinking": "generating_thinking",
    "arguments": "generating_tool_arguments",
    "comments": "generating_text",
}
SOON = 20.0


# The first event that brings the phase of a stall, by what stands in it.
LAST_EVENT = {
    "text": (b'"e"',),
    "comments": (b'"e"',),
    "thinking": (b'"H"',),
    "arguments": (b'"delta":"', b'"arguments":"{'),
}


def stalling(stall: Stall, barrier: Barrier) -> Any:
    """A server that stops answering at `stall` and never goes on."""

    async def script(request: ScriptedRequest, out: Out) -> None:
        if stall != "headers":
            await out.start()
        for frame in _frames_until(stall, request.protocol):
            await out.write(frame)
        while stall == "comments":
            await out.write(": still here\n\n")
            await out.sleep(0.02)
        await out.pause(barrier)

    return script


def _frames_until(stall: Stall, protocol: str) -> list[bytes]:
    parts: dict[str, Part] = {
        "thinking": Think("Hmm", 1),
        "arguments": Call("lookup", {"key": "value"}, fragments=3),
    }
    reply = Reply(parts.get(stall, Say("Hello", 1)))
    frames: list[bytes] = []
    for frame in reply.frames(protocol) if stall in LAST_EVENT else ():
        frames.append(frame)
        if any(mark in frame for mark in LAST_EVENT[stall]):
            break
    return frames


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stall", ["headers", "first_event"])
async def test_no_first_event_in_time_fails_the_attempt(protocol: Protocol, stall: Stall) -> None:
    barrier = Barrier()
    async with ScriptedProvider(stalling(stall, barrier)) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol, first_event_timeout=0.3))
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("first_event_timeout", True)
    assert_failed(outcome.record, scope="first_event", phase="waiting_first_event")
    assert outcome.record["first_event_at"] is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stall", ["text", "thinking", "arguments", "comments"])
async def test_silence_between_events_fails_the_attempt_and_comments_are_silence(
    protocol: Protocol, stall: Stall
) -> None:
    barrier = Barrier()
    async with ScriptedProvider(stalling(stall, barrier)) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol, idle_timeout=0.3))
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    assert outcome.error is not None
    assert outcome.error.code == "idle_timeout"
    assert_failed(outcome.record, scope="idle", phase=PHASES[stall])


@pytest.mark.parametrize("stall", list(PHASES))
async def test_the_whole_request_has_a_deadline(stall: Stall) -> None:
    async with ScriptedProvider(stalling(stall, Barrier())) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, request_timeout=0.4))
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("request_timeout", True)
    assert_failed(outcome.record, scope="request", phase=PHASES[stall])


@pytest.mark.parametrize("stall", list(PHASES))
async def test_the_deadline_of_the_run_cancels_the_attempt(stall: Stall) -> None:
    loop = asyncio.get_running_loop()
    async with (
        ScriptedProvider(stalling(stall, Barrier())) as server,
        provider_client(clock=loop.time) as client,
    ):
        outcome = await run(client, profile(server.base_url), run_deadline=loop.time() + 0.4)
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
    async with ScriptedProvider(stalling(stall, Barrier())) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url, protocol), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        task = asyncio.create_task(_read(attempt))
        await _until(lambda: attempt.record.phase == PHASES[stall])
        attempt.cancel(reason)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        record = attempt.record.to_json()
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    assert (record["outcome"], record["cancel_reason"]) == ("cancelled", reason)
    assert (record["cancel_phase"], record["failure_phase"]) == (PHASES[stall], None)
    assert record["error_class"] is None
    assert record["started_at"] <= record["cancel_observed_at"] <= record["ended_at"]
    assert_closed_before_the_end(record)


async def test_a_task_that_is_cancelled_without_a_word_is_a_shutdown() -> None:
    async with ScriptedProvider(stalling("text", Barrier())) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        task = asyncio.create_task(_read(attempt))
        await _until(lambda: attempt.record.phase == "generating_text")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    record = attempt.record.to_json()
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


async def _until(fact: Any) -> None:
    async with asyncio.timeout(SOON):
        while not fact():
            await asyncio.sleep(0.005)


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
