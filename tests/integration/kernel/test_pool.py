"""The pool: warm kernels, none twice, none left, and failures that end in time."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import threading
from pathlib import Path

import pytest

from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.pool import KernelPool
from streaming.limits import KernelLimits
from tests.integration.kernel.conftest import LIMITS
from tests.integration.kernel.support import children, command_line, is_gone, open_files, until

SHORT = dataclasses.replace(LIMITS, start_seconds=0.5, prewarmed=0)


def kernels() -> list[int]:
    """The kernel processes of this process."""
    return [pid for pid in children() if "boot.py" in command_line(pid)]


async def test_a_warm_kernel_is_handed_out_and_another_takes_its_place(tmp_path: Path) -> None:
    pool = KernelPool(LIMITS, os.environ)
    await pool.start()
    try:
        await until(lambda: pool.ready == 1, "one is warm")
        [warm] = kernels()
        kernel = await pool.acquire(tmp_path)
        assert kernel.pid == warm
        await until(lambda: pool.ready == 1, "another is warm")
        other = await pool.acquire(tmp_path)
        assert other.pid != kernel.pid
    finally:
        await pool.aclose()
    assert kernels() == []


async def test_a_kernel_that_died_while_waiting_is_not_handed_out(tmp_path: Path) -> None:
    pool = KernelPool(LIMITS, os.environ)
    await pool.start()
    try:
        await until(lambda: pool.ready == 1, "one is warm")
        [warm] = kernels()
        os.kill(warm, signal.SIGKILL)
        await until(lambda: is_gone(warm), "it is dead")
        kernel = await pool.acquire(tmp_path)
        assert kernel.alive
        assert kernel.pid != warm
    finally:
        await pool.aclose()


async def test_a_kernel_whose_death_nobody_has_noticed_yet_is_passed_over(tmp_path: Path) -> None:
    pool = KernelPool(LIMITS, os.environ)
    await pool.start()
    try:
        await until(lambda: pool.ready == 1, "one is warm")
        [warm] = kernels()
        # No turn of the loop lies between: the pool still takes it for alive.
        os.kill(warm, signal.SIGKILL)
        kernel = await pool.acquire(tmp_path)
        assert kernel.alive
        assert kernel.pid != warm
    finally:
        await pool.aclose()


async def test_kernels_taken_and_dropped_leave_nothing(tmp_path: Path) -> None:
    pool = KernelPool(dataclasses.replace(LIMITS, prewarmed=0), os.environ)
    await pool.start()
    try:
        await pool.discard(await pool.acquire(tmp_path))

        def counts() -> tuple[int, int, int, int]:
            tasks = len(asyncio.all_tasks())
            return len(kernels()), open_files(), threading.active_count(), tasks

        base = counts()
        for _ in range(2):
            taken = await asyncio.gather(*(pool.acquire(tmp_path) for _ in range(4)))
            assert len({kernel.pid for kernel in taken}) == 4
            await asyncio.gather(*(pool.discard(kernel) for kernel in taken))

        def is_clean() -> bool:
            # Fewer may be left than at the start: a thread of an earlier test has ended meanwhile.
            return all(now <= before for now, before in zip(counts(), base, strict=True))

        await until(is_clean, f"back to {base}, now {counts()}")
        assert pool.root is not None
        await until(lambda: os.listdir(str(pool.root)) == [], "no run folder is left")
    finally:
        await pool.aclose()


def script(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [("exec sleep 1000", SHORT, "did not answer"), ("exit 3", LIMITS, "ended while it was starting")],
)
async def test_a_kernel_that_does_not_come_up_fails_in_time_and_leaves_no_process(
    tmp_path: Path, text: str, limits: KernelLimits, words: str
) -> None:
    pool = KernelPool(dataclasses.replace(limits, prewarmed=0), os.environ, python=script(tmp_path, text))
    await pool.start()
    try:
        before = children()
        with pytest.raises(KernelStartFailed, match=words):
            await pool.acquire(tmp_path)
        assert set(children()) <= set(before)
    finally:
        await pool.aclose()


async def test_a_missing_interpreter_is_said_so(tmp_path: Path) -> None:
    pool = KernelPool(SHORT, os.environ, python=str(tmp_path / "none"))
    await pool.start()
    try:
        with pytest.raises(KernelStartFailed, match="could not be started"):
            await pool.acquire(tmp_path)
    finally:
        await pool.aclose()


async def test_a_workspace_that_is_not_there_is_a_failure_and_the_kernel_is_dropped(tmp_path: Path) -> None:
    pool = KernelPool(dataclasses.replace(LIMITS, prewarmed=0), os.environ)
    await pool.start()
    try:
        with pytest.raises(KernelStartFailed, match="FileNotFoundError"):
            await pool.acquire(tmp_path / "none")
        assert kernels() == []
    finally:
        await pool.aclose()


async def test_a_cancelled_acquire_leaves_no_kernel(tmp_path: Path) -> None:
    # One that never answers: it is still starting however late the test looks.
    limits = dataclasses.replace(LIMITS, prewarmed=0)
    pool = KernelPool(limits, os.environ, python=script(tmp_path, "sleep 1000; exit"))
    await pool.start()
    try:
        acquiring = asyncio.create_task(pool.acquire(tmp_path))
        await until(lambda: len(kernels()) == 1, "it is starting")
        acquiring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await acquiring
        await until(lambda: kernels() == [], "it is gone")
    finally:
        await pool.aclose()


async def test_a_pool_that_is_closed_starts_nothing(tmp_path: Path) -> None:
    pool = KernelPool(KernelLimits(), os.environ)
    with pytest.raises(KernelStartFailed):
        await pool.acquire(tmp_path)
