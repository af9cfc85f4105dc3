"""Tasks that lose their cancellation end all the same."""

from __future__ import annotations

import asyncio

import pytest

from streaming.endings import ended, heed


class Deaf:
    """A library that takes a cancellation for a result, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.calls = 0

    async def call(self) -> None:
        self.calls += 1
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            if self.calls > self.times:
                raise


async def loop_around(library: Deaf, *, heeding: bool) -> None:
    while True:
        await library.call()
        if heeding:
            heed()


async def test_a_loop_that_heeds_ends_at_the_first_word() -> None:
    library = Deaf(times=1)
    task = asyncio.create_task(loop_around(library, heeding=True))
    await asyncio.sleep(0)
    await ended([task], again_seconds=1_000)
    assert task.cancelled()
    assert library.calls == 1


async def test_a_task_that_did_not_hear_is_told_again() -> None:
    library = Deaf(times=3)
    task = asyncio.create_task(loop_around(library, heeding=False))
    await asyncio.sleep(0)
    await ended([task], again_seconds=0.001)
    assert task.cancelled()
    assert library.calls == 4


async def test_tasks_that_are_over_or_fail_are_no_trouble() -> None:
    async def fail() -> None:
        raise ValueError

    failing, done = asyncio.create_task(fail()), asyncio.create_task(asyncio.sleep(0))
    await done
    await ended([failing, done])
    await ended([])


async def test_heeding_changes_nothing_for_a_task_that_is_wanted() -> None:
    async def wanted() -> str:
        heed()
        async with asyncio.timeout(0.001):
            try:
                await asyncio.sleep(1_000)
            except asyncio.CancelledError:
                # A timeout's own cancellation is one as well, until its block is left.
                with pytest.raises(asyncio.CancelledError):
                    heed()
                raise
        return "never"

    with pytest.raises(TimeoutError):
        await asyncio.create_task(wanted())
    heed()
