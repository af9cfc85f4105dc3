"""Signals between threads and event loops."""

from __future__ import annotations

import asyncio
import threading

from streaming.providers.scripted_signal import Barrier, Signal

SOON = 40.0


async def test_a_signal_set_by_another_thread_wakes_who_waits() -> None:
    signal = Signal()
    waiting = asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    threading.Thread(target=signal.set).start()
    await asyncio.wait_for(waiting, SOON)
    assert signal.is_set()


async def test_a_signal_that_is_set_stays_set() -> None:
    signal = Signal()
    signal.set()
    signal.set()
    await asyncio.wait_for(signal.wait(), SOON)
    assert signal.wait_in_thread(0)


def test_code_without_a_loop_waits_too() -> None:
    signal = Signal()
    assert not signal.wait_in_thread(0)
    threading.Thread(target=signal.set).start()
    assert signal.wait_in_thread(SOON)


def test_a_waiter_whose_loop_is_gone_disturbs_nobody() -> None:
    signal = Signal()

    async def begin_and_leave() -> None:
        task = asyncio.create_task(signal.wait())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(begin_and_leave())
    signal.set()
    assert signal.is_set()


async def test_a_barrier_tells_that_it_was_reached_and_holds() -> None:
    barrier = Barrier()
    held = asyncio.create_task(barrier.hold())
    await asyncio.wait_for(barrier.reached.wait(), SOON)
    assert not held.done()
    barrier.release.set()
    await asyncio.wait_for(held, SOON)
