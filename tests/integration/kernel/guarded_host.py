"""A server in small that holds a secret in its environment: prints what a kernel finds out about it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from streaming.kernel.hardening import forbid_inspection
from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import KernelLimits

CODE = """
import os, subprocess, sys
for place in ("environ", "mem", "maps"):
    try:
        print(place, len(open(f"/proc/{os.getppid()}/{place}", "rb").read(10)))
    except OSError as error:
        print(place, type(error).__name__)
look = f"print(open('/proc/{os.getppid()}/environ').read())"
print(subprocess.run([sys.executable, "-c", look], capture_output=True).returncode)
"""


async def main(workspace: Path) -> None:
    assert forbid_inspection()
    pool = KernelPool(KernelLimits(start_seconds=50, prewarmed=0), os.environ)
    await pool.start()
    kernel = SessionKernel(pool, workspace)
    outcome = await kernel.execute(CODE, timeout_seconds=40)
    print(outcome.output.text, flush=True)
    await kernel.close()
    await pool.aclose()


asyncio.run(main(Path(sys.argv[1])))
