"""The first result of a kernel: taken warm from the pool, against started cold, in one run.

    python bench/kernel.py [rounds]

Prints medians in milliseconds and their ratio; trust the ratio, not the digits.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import KernelLimits


async def first_result_ms(pool: KernelPool, workspace: Path) -> float:
    kernel = SessionKernel(pool, workspace)
    began = time.perf_counter()
    outcome = await kernel.execute("print(1)", timeout_seconds=60)
    taken = (time.perf_counter() - began) * 1000
    assert outcome.output.text == "1\n"
    await kernel.close()
    return taken


async def warm_results_ms(kernel: SessionKernel, rounds: int) -> list[float]:
    await kernel.execute("1", timeout_seconds=60)
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        await kernel.execute("print(1)", timeout_seconds=60)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


async def measure(rounds: int, workspace: Path) -> None:
    cold_pool = KernelPool(dataclasses.replace(KernelLimits(), prewarmed=0), os.environ)
    warm_pool = KernelPool(dataclasses.replace(KernelLimits(), prewarmed=1), os.environ)
    await cold_pool.start()
    await warm_pool.start()
    cold, warm = [], []
    for _ in range(rounds):
        while warm_pool.ready < 1:
            await asyncio.sleep(0.05)
        warm.append(await first_result_ms(warm_pool, workspace))
        while warm_pool.ready < 1:
            await asyncio.sleep(0.05)
        cold.append(await first_result_ms(cold_pool, workspace))
    kernel = SessionKernel(cold_pool, workspace)
    next_results = await warm_results_ms(kernel, rounds * 10)
    await kernel.close()
    await cold_pool.aclose()
    await warm_pool.aclose()
    show("cold, first result", cold)
    show("prewarmed, first result", warm)
    show("every later result", next_results)
    print(f"cold / prewarmed: {statistics.median(cold) / statistics.median(warm):.1f}")


def show(name: str, taken: list[float]) -> None:
    print(f"{name:24} median {statistics.median(taken):8.1f} ms   worst {max(taken):8.1f} ms")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10, Path(folder)))
