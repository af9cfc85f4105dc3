"""A server killed without warning leaves no kernel, no child of one, and no file behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from tests.integration.kernel.conftest import LIMITS
from tests.integration.kernel.support import SECONDS, is_gone, kernel_pid, run, until

PROJECT = Path(__file__).parents[3]


async def test_a_killed_server_leaves_nothing(tmp_path: Path) -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.kernel.host", str(tmp_path),
        cwd=PROJECT, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        told = json.loads(await asyncio.wait_for(server.stdout.readline(), SECONDS))
        assert len(told["pids"]) == 7
        assert not any(is_gone(pid) for pid in told["pids"])
    finally:
        server.kill()
        await server.wait()
    for pid in told["pids"]:
        await until(lambda pid=pid: is_gone(pid), f"process {pid} is gone")  # type: ignore[misc]
    await until(lambda: not Path(told["root"]).exists(), "the run folder is gone")


async def test_a_guardian_that_is_killed_is_replaced_and_knows_the_running_kernels(tmp_path: Path) -> None:
    pool = KernelPool(LIMITS, os.environ)
    await pool.start()
    kernel = SessionKernel(pool, tmp_path)
    try:
        outcome = await run(
            kernel,
            "import subprocess\n"
            "d = subprocess.Popen(['sleep', '1000'], start_new_session=True); print(d.pid)",
        )
        first = pool.guardian_pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: pool.guardian_pid not in (None, first), "a new guardian is there")
        assert not is_gone(kernel_pid(kernel))
        await kernel.close()
        await until(lambda: is_gone(int(outcome.output.text)), "the daemon is found by the new guardian")
    finally:
        await pool.aclose()
