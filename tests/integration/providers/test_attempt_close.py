"""A transport whose closing never comes back: left behind in its bound, and told."""

from __future__ import annotations

import asyncio
from typing import Any

import httpcore
import pytest

from streaming.limits import WireLimits
from streaming.providers.scripted import ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_signal import Barrier
from streaming.providers.transport import Transport
from tests.support.provider_attempts import ask, profile, provider_client

SOON = 40.0


class _StuckStream(httpcore.AsyncNetworkStream):
    """A socket whose closing never comes back, and which no cancellation moves."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, let_go: asyncio.Event) -> None:
        self._inner = inner
        self._let_go = let_go

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        while not self._let_go.is_set():
            try:
                await self._let_go.wait()
            except asyncio.CancelledError:
                continue
        await self._inner.aclose()


class _StuckBackend(httpcore.AnyIOBackend):
    def __init__(self) -> None:
        self.let_go = asyncio.Event()

    async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        return _StuckStream(await super().connect_tcp(*args, **kwargs), self.let_go)


@pytest.mark.parametrize("cancels", [1, 3])
async def test_a_close_that_hangs_is_left_behind_in_its_bound_and_told(cancels: int) -> None:
    barrier = Barrier()

    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.start()
        await out.pause(barrier)

    backend = _StuckBackend()
    limits = WireLimits(close_seconds=0.3)
    async with (
        ScriptedProvider(script) as server,
        provider_client(limits=limits, transport=Transport(backend)) as client,
    ):
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        task = asyncio.create_task(_drive(attempt))
        await asyncio.wait_for(barrier.reached.wait(), SOON)
        attempt.cancel("user_stop")
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, SOON)
        wire = attempt.record.to_json()["wire_responses"][0]
        backend.let_go.set()
    record = attempt.record.to_json()
    assert (record["outcome"], record["cancel_reason"]) == ("cancelled", "user_stop")
    assert wire["close_error_type"] == "TimeoutError"
    assert "closed_at" not in wire
    assert wire["close_started_at"] <= record["ended_at"]


async def _drive(attempt: Any) -> None:
    async with attempt:
        async for _ in attempt.events():
            pass
