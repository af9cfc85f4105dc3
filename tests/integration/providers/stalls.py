"""An attempt brought to the place where its server stops answering, with a clock to go on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from streaming.providers.attempt import Attempt
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Part, Say, Think
from streaming.providers.scripted_signal import Barrier
from streaming.providers.types import Protocol
from tests.support.clock import LeapingClock
from tests.support.provider_attempts import Outcome, ask, profile, provider_client, read

Stall = Literal["headers", "first_event", "text", "thinking", "arguments", "comments"]
PHASES = {
    "headers": "waiting_first_event",
    "first_event": "waiting_first_event",
    "text": "generating_text",
    "thinking": "generating_thinking",
    "arguments": "generating_tool_arguments",
    "comments": "generating_text",
}
SOON = 40.0


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


@dataclass(frozen=True, slots=True)
class Stalled:
    """An attempt whose server has stopped answering: what it read is known, and its deadlines still run."""

    clock: LeapingClock
    request: ScriptedRequest
    attempt: Attempt
    reading: asyncio.Task[Outcome]

    async def overtaken_by(self, seconds: float) -> Outcome:
        """What becomes of it `seconds` later."""
        self.clock.leap(seconds)
        outcome = await asyncio.wait_for(self.reading, SOON)
        await asyncio.wait_for(self.request.closed.wait(), SOON)
        return outcome


@asynccontextmanager
async def stalled(
    stall: Stall, protocol: Protocol = "responses", *, run_seconds: float | None = None, **timeouts: float
) -> AsyncIterator[Stalled]:
    clock, barrier = LeapingClock(), Barrier()
    async with (
        ScriptedProvider(stalling(stall, barrier)) as server,
        provider_client(clock=clock.time) as client,
    ):
        run_deadline = None if run_seconds is None else clock.time() + run_seconds
        to = profile(server.base_url, protocol, **timeouts)
        attempt = client.attempt(to, ask(), run_id="r", step=1, attempt=1, run_deadline=run_deadline)
        reading = asyncio.create_task(read(attempt))
        try:
            await until(lambda: barrier.reached.is_set() or stall == "comments")
            await until(lambda: _has_come_to(stall, attempt, protocol))
            yield Stalled(clock, server.requests[0], attempt, reading)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


def _has_come_to(stall: Stall, attempt: Attempt, protocol: str) -> bool:
    """All that was sent has been read: what still came would begin the silence anew."""
    record = attempt.record
    if record.phase != PHASES[stall] or not record.wire_responses:
        return False
    (response,) = record.wire_responses
    sent = sum(len(frame) for frame in _frames_until(stall, protocol))
    return stall == "headers" or (response.status == 200 and response.bytes >= sent)


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not fact():
            await asyncio.sleep(0.005)
