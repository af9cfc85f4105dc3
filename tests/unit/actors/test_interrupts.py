from __future__ import annotations

import asyncio

import pytest

from streaming.actors.interrupts import InterruptScope, RunInterrupted


async def test_a_stop_ends_the_wait_inside_as_our_own_exception() -> None:
    scope = InterruptScope()
    inside = asyncio.Event()

    async def work() -> str:
        try:
            async with scope:
                inside.set()
                await asyncio.Event().wait()
        except RunInterrupted:
            # The task is whole: it can wait again.
            await asyncio.sleep(0)
            return "stopped"
        return "went on"

    task = asyncio.create_task(work())
    await inside.wait()
    scope.interrupt()
    scope.interrupt()
    assert await task == "stopped"
    assert task.cancelling() == 0


async def test_a_stop_that_came_first_ends_the_scope_before_it_begins() -> None:
    scope = InterruptScope()
    scope.interrupt()
    with pytest.raises(RunInterrupted):
        async with scope:
            pytest.fail("nothing may begin")


async def test_a_stop_between_two_scopes_waits_for_the_next_one() -> None:
    scope = InterruptScope()
    async with scope:
        pass
    scope.interrupt()
    await asyncio.sleep(0)
    with pytest.raises(RunInterrupted):
        scope.check()


async def test_a_cancellation_from_outside_passes_through() -> None:
    scope = InterruptScope()
    inside = asyncio.Event()

    async def work() -> None:
        async with scope:
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_from_outside_beats_a_stop_of_the_same_moment() -> None:
    scope = InterruptScope()
    inside = asyncio.Event()

    async def work() -> None:
        async with scope:
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    scope.interrupt()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_is_not_replaced_by_the_stop() -> None:
    scope = InterruptScope()
    with pytest.raises(ValueError, match="broken"):
        async with scope:
            raise ValueError("broken")
