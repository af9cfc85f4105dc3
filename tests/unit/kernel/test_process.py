"""A process that is watched: its death is seen, and its group goes with it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from streaming.kernel.process import KernelProcess
from tests.integration.kernel.support import SECONDS, is_gone, open_files, until

PARENT = (
    "import subprocess, time; print(subprocess.Popen(['sleep', '1000']).pid, flush=True); time.sleep(1000)"
)


def started(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)


async def test_a_death_is_seen_once_and_nothing_stays_open() -> None:
    before = open_files()
    process = KernelProcess(
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    )
    calls: list[int] = []
    process.watchers.add(lambda: calls.append(1))
    assert process.alive
    assert process._process.stdin is not None
    process._process.stdin.close()
    await asyncio.wait_for(process.ended(), SECONDS)
    assert process.died.is_set()
    assert calls == [1]
    assert open_files() <= before


async def test_a_kill_takes_the_group() -> None:
    popen = started(PARENT)
    assert popen.stdout is not None
    with popen.stdout:
        child = int(popen.stdout.readline())
    process = KernelProcess(popen)
    process.kill()
    await asyncio.wait_for(process.ended(), SECONDS)
    await until(lambda: is_gone(child), "its child is gone")


async def test_a_dead_process_is_not_signalled_again() -> None:
    process = KernelProcess(started("pass"))
    assert process._process.stdout is not None
    process._process.stdout.close()
    await asyncio.wait_for(process.ended(), SECONDS)
    process.interrupt()
    process.kill()
