"""The tap stops what would never end: in the read that saw it, before anything of that is handed out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest

from streaming.limits import WireLimits
from streaming.providers.attempt import Attempt
from streaming.providers.events import ArgumentsDelta, StepEvent
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say, Think
from streaming.providers.scripted_signal import Barrier
from streaming.providers.tap import GuardStop
from streaming.providers.types import Protocol
from tests.support.provider_attempts import PROTOCOLS, Outcome, ask, profile, provider_client, run

SOON = 40.0


async def guarded(
    protocol: Protocol, *parts: Call | Say | Think, limits: WireLimits | None = None
) -> Outcome:
    async with (
        ScriptedProvider(Reply(*parts)) as server,
        provider_client(limits=limits or WireLimits()) as client,
    ):
        return await run(client, profile(server.base_url, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_arguments_beyond_the_limit_of_their_tool_end_the_attempt(protocol: Protocol) -> None:
    outcome = await guarded(protocol, Call("lookup", {"key": "x" * 40_000}))
    assert isinstance(outcome.error, GuardStop)
    assert (outcome.error.code, outcome.error.retryable) == ("tool_arguments_too_long", True)
    guard = outcome.record["stream_guard"]
    assert (guard["kind"], guard["tool"], guard["limit"]) == ("limit", "lookup", 16_384)
    assert guard["chars"] > 16_384
    (tool,) = outcome.wire["tools"]
    assert tool["argument_chars"] == guard["chars"]
    assert outcome.record["tool_argument_chars"] <= 16_384
    assert outcome.wire["closed_at"] <= outcome.record["ended_at"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_arguments_at_the_limit_are_fine(protocol: Protocol) -> None:
    arguments = json.dumps({"key": ""})
    outcome = await guarded(protocol, Call("lookup", {"key": "x" * (16_384 - len(arguments))}))
    assert len(outcome.response.calls[0].arguments) == 16_384


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_tool_that_declares_more_gets_more(protocol: Protocol) -> None:
    outcome = await guarded(protocol, Call("python", {"code": "x" * 100_000}, fragments=4_096))
    assert outcome.record["tool_argument_chars"] > 100_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("blank", [" ", "\n", "\t"])
async def test_blank_space_without_end_in_arguments_is_a_runaway(protocol: Protocol, blank: str) -> None:
    outcome = await guarded(protocol, Call("python", '{"code":"1"' + blank * 9_000, fragments=64))
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("tool_arguments_runaway", True)
    guard = outcome.record["stream_guard"]
    assert (guard["kind"], guard["tool"], guard["limit"]) == ("runaway", "python", 8_192)
    assert guard["chars"] >= 8_192


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_escaped_newlines_without_end_are_a_runaway_too(protocol: Protocol) -> None:
    outcome = await guarded(protocol, Call("python", {"code": "x = 1" + "\n" * 9_000}, fragments=63))
    assert outcome.record["stream_guard"]["kind"] == "runaway"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", [Say, Think])
async def test_blank_text_without_end_is_a_runaway(protocol: Protocol, kind: type[Say] | type[Think]) -> None:
    outcome = await guarded(protocol, kind("So:" + "\n" * 9_000, 50))
    assert outcome.error is not None
    assert outcome.error.code == "text_runaway"
    assert outcome.record["stream_guard"]["tool"] is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_run_that_ends_below_the_bound_is_an_answer(protocol: Protocol) -> None:
    outcome = await guarded(protocol, Say("So:" + "\n" * 8_191 + "well", 50))
    assert outcome.response.text.endswith("well")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_text_without_end_meets_the_limit_of_text(protocol: Protocol) -> None:
    outcome = await guarded(protocol, Say("word " * 500, 20), limits=WireLimits(text_chars=1_000))
    assert outcome.error is not None
    assert outcome.error.retryable


async def test_a_response_of_endless_bytes_meets_the_limit_of_bytes() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        while not request.closed.is_set():
            await out.write(":" * 1_000 + "\n")

    limits = WireLimits(response_bytes=100_000)
    async with ScriptedProvider(script) as server, provider_client(limits=limits) as client:
        outcome = await run(client, profile(server.base_url))
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    assert outcome.error is not None
    assert outcome.error.code == "response_too_long"
    assert outcome.wire["bytes"] <= 100_000 + 64 * 1024


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_while_the_consumer_is_busy_the_wire_is_read_no_further(protocol: Protocol) -> None:
    """The consumer stops behind 200 deltas: what one read brought is known, and no second read happens."""
    reply = Reply(Call("python", {"code": "x" * 600_000}, fragments=200))
    sent = 0

    async def script(request: ScriptedRequest, out: Out) -> None:
        nonlocal sent
        for frame in reply.frames(protocol):
            await out.write(frame)
            sent += len(frame)

    barrier = Barrier()
    async with ScriptedProvider(script) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url, protocol), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        task = asyncio.create_task(_slow(attempt.events(), barrier))
        await asyncio.wait_for(barrier.reached.wait(), SOON)
        before = attempt.record.to_json()["wire_responses"][0]
        await _settled(lambda: sent)
        after = attempt.record.to_json()["wire_responses"][0]
        assert after == before
        assert attempt.record.tool_argument_chars <= after["tools"][0]["argument_chars"]
        barrier.release.set()
        deltas = await task
    assert sum(len(delta.text) for delta in deltas) == len(reply.answer.calls[0].text)


async def _slow(events: AsyncIterator[list[StepEvent]], barrier: Barrier) -> list[ArgumentsDelta]:
    seen: list[ArgumentsDelta] = []
    async for batch in events:
        for event in batch:
            seen += [event] if isinstance(event, ArgumentsDelta) else []
            if len(seen) == 200:
                await barrier.hold()
    return seen


async def _settled(value: Callable[[], int]) -> None:
    """Until the server can send no more: its count stands still over many turns of the loop."""
    still, last = 0, -1
    async with asyncio.timeout(SOON):
        while still < 20:
            await asyncio.sleep(0.01)
            now = value()
            still, last = (still + 1 if now == last else 0), now


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_at_the_overflow_the_transport_closes_before_anything_is_handed_out(protocol: Protocol) -> None:
    """The consumer sees no list that holds the overflow, and the server sees the end of the connection."""
    handed: list[StepEvent] = []

    async def script(request: ScriptedRequest, out: Out) -> None:
        for frame in Reply(Call("lookup", {"key": "x" * 10_000_000}, fragments=1_000)).frames(protocol):
            await out.write(frame)

    async with ScriptedProvider(script) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url, protocol), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        with pytest.raises(GuardStop):
            await _collect(attempt, handed)
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    chars = sum(len(event.text) for event in handed if isinstance(event, ArgumentsDelta))
    assert chars <= 16_384
    assert attempt.record.to_json()["tool_argument_chars"] == chars


async def _collect(attempt: Attempt, handed: list[StepEvent]) -> None:
    async with attempt:
        async for events in attempt.events():
            handed += events
