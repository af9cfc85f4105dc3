"""Kernels that die: the call ends, says so, and the next one has a kernel again."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from streaming.kernel.session_kernel import SessionKernel
from tests.integration.kernel.support import (
    SECONDS,
    WAIT_UNTIL_HEARD,
    is_gone,
    kernel_pid,
    run,
    run_until_heard,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(3)",
        "import ctypes; ctypes.string_at(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
async def test_a_kernel_that_ends_itself_ends_the_call(
    kernel: SessionKernel, tmp_path: Path, code: str
) -> None:
    words = "import sys; print('last words', flush=True)"
    outcome = await run_until_heard(kernel, tmp_path, "last words", words + WAIT_UNTIL_HEARD + code)
    assert (outcome.status, outcome.kernel, outcome.state_lost) == ("died", "restarted", True)
    assert outcome.output.text == "last words\n"
    after = await run(kernel, "'sys' in globals()")
    assert (after.status, after.state_lost, after.output.text) == ("ok", False, "False\n")


async def test_a_kernel_killed_from_outside_while_it_runs_ends_the_call(kernel: SessionKernel) -> None:
    started = asyncio.Event()
    execution = asyncio.create_task(
        kernel.execute(
            "print('go', flush=True)\nwhile True: pass",
            timeout_seconds=SECONDS,
            on_output=lambda text: started.set(),
        )
    )
    await asyncio.wait_for(started.wait(), SECONDS)
    os.kill(kernel_pid(kernel), signal.SIGKILL)
    outcome = await asyncio.wait_for(execution, SECONDS)
    assert (outcome.status, outcome.kernel, outcome.state_lost) == ("died", "restarted", True)


async def test_a_kernel_that_died_between_calls_is_replaced_and_the_loss_told_once(
    kernel: SessionKernel,
) -> None:
    await run(kernel, "kept = 1")
    os.kill(kernel_pid(kernel), signal.SIGKILL)
    await until(lambda: kernel.state == "lost", "the death is seen")
    outcome = await run(kernel, "'kept' in globals()")
    assert (outcome.status, outcome.state_lost, outcome.output.text) == ("ok", True, "False\n")
    assert (await run(kernel, "1")).state_lost is False


async def test_exit_ends_the_kernel_with_its_own_call(kernel: SessionKernel) -> None:
    outcome = await run(kernel, "kept = 1\nexit()")
    assert (outcome.status, outcome.kernel, outcome.state_lost) == ("ok", "restarted", True)
    assert (await run(kernel, "'kept' in globals()")).output.text == "False\n"


async def test_what_a_kernel_started_ends_with_it_daemons_too(kernel: SessionKernel) -> None:
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "daemon = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "print(child.pid, daemon.pid)"
    )
    outcome = await run(kernel, code)
    pids = [int(word) for word in outcome.output.text.split()]
    await kernel.close()
    for pid in pids:
        await until(lambda pid=pid: is_gone(pid), "a process of the kernel is gone")  # type: ignore[misc]


async def test_restart_drops_the_state_and_close_forgets_it(kernel: SessionKernel) -> None:
    await run(kernel, "kept = 1")
    await kernel.restart()
    assert not kernel.alive
    assert (await run(kernel, "'kept' in globals()")).state_lost is True
    await kernel.close()
    assert kernel.state == "none"
