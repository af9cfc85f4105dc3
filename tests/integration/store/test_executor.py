"""The queue in front of the writer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pytest_django import Settings

from sessions_app.store import executor
from sessions_app.store.trouble import Busy
from tests.support.clock import LeapingClock


@asynccontextmanager
async def writer_held() -> AsyncIterator[None]:
    """The writer is in the middle of a job while the block runs."""
    begun, release = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        release.wait(30)

    holding = asyncio.ensure_future(executor.write(hold))
    await asyncio.to_thread(begun.wait, 30)
    try:
        yield
    finally:
        release.set()
        await holding


async def test_a_write_that_cannot_begin_fails_in_bounded_time_and_never_runs(
    transactional_db: None, settings: Settings
) -> None:
    ran = threading.Event()
    async with writer_held():
        settings.ALBEDO = {**settings.ALBEDO, "database_busy_seconds": 0.05}
        with pytest.raises(Busy, match="busy"):
            async with asyncio.timeout(30):
                await executor.write(ran.set)
    await executor.write(lambda: None)
    assert not ran.is_set()


async def test_a_write_that_has_begun_is_not_given_up(transactional_db: None) -> None:
    clock, begun, release = LeapingClock(), threading.Event(), threading.Event()

    def job() -> bool:
        begun.set()
        return release.wait(30)

    writing = asyncio.ensure_future(executor.write(job))
    await asyncio.to_thread(begun.wait, 30)
    clock.leap(1_000)
    # Timers that are due run in the next turn.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    release.set()
    assert await writing


async def test_cancelling_who_waits_in_the_queue_is_a_cancellation(transactional_db: None) -> None:
    async with writer_held():
        waiting = asyncio.ensure_future(executor.write(lambda: None))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
