"""The server's side of the guardian: it is told of runs, and replaced when it is gone or stands still."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from streaming.kernel.guard import Guard
from tests.integration.kernel.support import is_gone, open_files, until


async def test_it_clears_the_root_when_closed_and_leaves_nothing_open(tmp_path: Path) -> None:
    before = open_files()
    (tmp_path / "root").mkdir()
    guard = Guard(tmp_path / "root")
    guard.start()
    pid = guard.pid
    assert pid is not None
    await guard.close()
    await guard.close()
    assert is_gone(pid)
    assert not (tmp_path / "root").exists()
    assert open_files() <= before


async def test_one_that_stands_still_is_replaced(tmp_path: Path) -> None:
    guard = Guard(tmp_path / "root")
    guard.start()
    first = guard.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    for number in range(2_000):
        guard.add(str(number), 2**22 + number, tmp_path / "none")
        guard.end(str(number))
    await until(lambda: guard.pid not in (None, first), "a new one is there")
    await guard.close()
    assert is_gone(first)


async def test_nothing_can_be_told_before_the_start_or_after_the_end(tmp_path: Path) -> None:
    guard = Guard(tmp_path / "root")
    guard.add("a", 2**22, tmp_path / "none")
    guard.end("a")
    guard.start()
    await guard.close()
    guard.add("b", 2**22, tmp_path / "none")
    assert guard.pid is None
