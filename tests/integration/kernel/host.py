"""A server in small: a pool, two kernels with children. Prints all process ids and waits to be killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import KernelLimits

CODE = """
import subprocess
child = subprocess.Popen(["sleep", "1000"])
daemon = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(child.pid, daemon.pid)
"""


async def main(workspace: Path) -> None:
    pool = KernelPool(KernelLimits(start_seconds=50), os.environ)
    await pool.start()
    pids = []
    for _ in range(2):
        kernel = SessionKernel(pool, workspace)
        outcome = await kernel.execute(CODE, timeout_seconds=40)
        pids += [kernel.pid, *map(int, outcome.output.text.split())]
    assert pool.guardian_pid is not None
    print(json.dumps({"pids": [*pids, pool.guardian_pid], "root": str(pool.root)}), flush=True)
    await asyncio.sleep(1000)


asyncio.run(main(Path(sys.argv[1])))
