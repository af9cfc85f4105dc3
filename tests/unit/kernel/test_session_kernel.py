"""A session's kernel before it has one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import KernelLimits


def unstarted(folder: Path) -> SessionKernel:
    return SessionKernel(KernelPool(KernelLimits(), os.environ), folder)


async def test_it_takes_no_kernel_until_it_is_used(folder: Path) -> None:
    kernel = unstarted(folder)
    assert (kernel.state, kernel.alive, kernel.pid, kernel.interrupt()) == ("none", False, None, False)
    await kernel.restart()
    await kernel.close()
    assert kernel.state == "none"


async def test_a_failed_start_is_raised_and_leaves_it_usable(folder: Path) -> None:
    kernel = unstarted(folder)
    for _ in range(2):
        with pytest.raises(KernelStartFailed):
            await kernel.execute("1", timeout_seconds=1)
    assert kernel.state == "none"


async def test_two_calls_at_once_are_a_mistake_that_is_said(folder: Path) -> None:
    kernel = unstarted(folder)
    first = asyncio.create_task(kernel.execute("1", timeout_seconds=1))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="already running"):
        await kernel.execute("2", timeout_seconds=1)
    with pytest.raises(KernelStartFailed):
        await first


@pytest.mark.parametrize("moment", range(8))
async def test_a_cancellation_in_the_moment_of_a_failed_start_is_not_lost(folder: Path, moment: int) -> None:
    task = asyncio.create_task(unstarted(folder).execute("1", timeout_seconds=1))
    for _ in range(moment):
        await asyncio.sleep(0)
    ended = task.done()
    task.cancel()
    with pytest.raises(KernelStartFailed if ended else asyncio.CancelledError):
        await task
