"""Every way of stopping ends, and says what became of the kernel."""

from __future__ import annotations

import asyncio

import pytest

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from tests.integration.kernel.support import (
    SECONDS,
    is_gone,
    kernel_pid,
    run,
    run_and_stop,
    run_out_of_time,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

GO = "print('go', flush=True)\n"
IGNORE = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(100)",
        "import asyncio; await asyncio.sleep(100)",
        "import subprocess; subprocess.run(['sleep', '100'])",
        "import os; os.system('sleep 100')",
    ],
)
async def test_an_interrupt_ends_it_and_the_kernel_keeps_its_state(shared: SessionKernel, code: str) -> None:
    await run(shared, "kept = 1")
    outcome = await run_and_stop(shared, GO + code)
    assert (outcome.status, outcome.kernel, outcome.state_lost) == ("interrupted", "idle", False)
    assert outcome.interrupted_at is not None
    assert outcome.output.text.startswith("go\n")
    assert (await run(shared, "kept")).output.text == "1\n"


async def test_code_that_ignores_the_signal_is_killed_and_the_kernel_replaced(stern: SessionKernel) -> None:
    outcome = await run_and_stop(stern, IGNORE + GO + "while True: pass")
    assert (outcome.status, outcome.kernel, outcome.state_lost) == ("interrupted", "restarted", True)
    after = await run(stern, "'signal' in globals()")
    assert (after.status, after.state_lost, after.output.text) == ("ok", False, "False\n")


async def test_code_that_swallows_everything_ends_too(stern: SessionKernel) -> None:
    code = "while True:\n    try:\n        while True: pass\n    except: pass"
    outcome = await run_and_stop(stern, GO + code)
    assert outcome.status == "interrupted"
    assert (await run(stern, "1")).status == "ok"


async def test_a_timeout_ends_it_the_same_way(kernel: SessionKernel, stern: SessionKernel) -> None:
    gentle = await run_out_of_time(kernel, GO + "import time; time.sleep(100)")
    assert (gentle.status, gentle.kernel, gentle.state_lost) == ("timeout", "idle", False)
    killed = await run_out_of_time(stern, IGNORE + GO + "while True: pass")
    assert (killed.status, killed.kernel, killed.state_lost) == ("timeout", "restarted", True)


async def test_an_interrupt_before_the_start_runs_nothing(kernel: SessionKernel) -> None:
    stop = asyncio.Event()
    stop.set()
    outcome = await kernel.execute("open('ran', 'w')", timeout_seconds=40, interrupted=stop)
    assert (outcome.status, outcome.kernel) == ("interrupted", None)
    assert (await run(kernel, "import os; os.listdir('.')")).output.text == "[]\n"


async def test_an_interrupt_while_a_kernel_is_awaited_ends_at_once(
    pool: KernelPool, kernel: SessionKernel
) -> None:
    stop = asyncio.Event()
    execution = asyncio.create_task(kernel.execute("1", timeout_seconds=40, interrupted=stop))
    await asyncio.sleep(0)
    stop.set()
    assert (await asyncio.wait_for(execution, SECONDS)).status == "interrupted"
    assert (await run(kernel, "2")).output.text == "2\n"


@pytest.mark.parametrize("turns", range(0, 24, 3))
async def test_an_interrupt_is_never_lost_around_the_start(shared: SessionKernel, turns: int) -> None:
    stop = asyncio.Event()
    code = "import time; time.sleep(100)"
    execution = asyncio.create_task(shared.execute(code, timeout_seconds=SECONDS, interrupted=stop))
    for _ in range(turns):
        await asyncio.sleep(0)
    stop.set()
    outcome = await asyncio.wait_for(execution, SECONDS)
    assert outcome.status == "interrupted"
    assert (await run(shared, "1")).status == "ok"


async def test_interrupt_speaks_only_to_what_runs(shared: SessionKernel) -> None:
    assert shared.interrupt() is False
    execution = asyncio.create_task(shared.execute("while True: pass", timeout_seconds=SECONDS))
    await asyncio.sleep(0)
    assert shared.interrupt() is True
    assert shared.interrupt() is True
    assert (await asyncio.wait_for(execution, SECONDS)).status == "interrupted"
    assert (await run(shared, "3")).output.text == "3\n"


async def test_a_cancelled_call_drops_its_kernel(kernel: SessionKernel) -> None:
    await run(kernel, "kept = 1")
    pid = kernel_pid(kernel)
    started = asyncio.Event()
    execution = asyncio.create_task(
        kernel.execute(GO + "while True: pass", timeout_seconds=40, on_output=lambda text: started.set())
    )
    await asyncio.wait_for(started.wait(), SECONDS)
    execution.cancel()
    with pytest.raises(asyncio.CancelledError):
        await execution
    await until(lambda: is_gone(pid), "the kernel is killed")
    assert kernel.state == "lost"
    after = await run(kernel, "'kept' in globals()")
    assert (after.output.text, after.state_lost) == ("False\n", True)
