"""A child dies with its parent."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.support.distributed import wait_gone
from tests.support.processes import end, spawn, wait_for
from tests.support.server import PROJECT

PARENT = """
import asyncio, sys
from pathlib import Path
from scripts.distributed.process import Process, Program
async def main():
    code = "import time; time.sleep(1000)"
    program = Program("child", (sys.executable, "-c", code), Path("/"))
    process = Process(program, sys.stdout.buffer, {})
    print("child", process.pid, flush=True)
    await process.ended.wait()
asyncio.run(main())
"""


def test_it_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = spawn([sys.executable, "-c", PARENT], log, folder=PROJECT)
    wait_for(lambda: "child" in log.read_text("ascii") or parent.poll() is not None, "the child")
    child = int(log.read_text("ascii").split()[-1])
    end(parent, signal.SIGKILL)
    wait_gone({child})
