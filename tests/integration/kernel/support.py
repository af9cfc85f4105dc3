"""Small helpers of the kernel tests: run to an end with a deadline, and what of a process is left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from streaming.kernel.session_kernel import SessionKernel
from streaming.kernel.values import Outcome
from tests.support.clock import LeapingClock

SECONDS = 50.0
# In a cell: until the test has heard what was printed.
WAIT_UNTIL_HEARD = "\nimport os, time\nwhile not os.path.exists('heard'): time.sleep(0.01)\n"


async def run(kernel: SessionKernel, code: str, timeout_seconds: float = 40.0) -> Outcome:
    return await asyncio.wait_for(kernel.execute(code, timeout_seconds=timeout_seconds), SECONDS)


async def run_and_stop(kernel: SessionKernel, code: str) -> Outcome:
    """Run code that prints something when it has begun, and stop it then."""
    stop = asyncio.Event()
    execution = kernel.execute(
        code, timeout_seconds=SECONDS, on_output=lambda text: stop.set(), interrupted=stop
    )
    return await asyncio.wait_for(execution, SECONDS)


async def run_out_of_time(kernel: SessionKernel, code: str) -> Outcome:
    """Run code that prints something when it has begun; its time is over then."""
    clock, begun = LeapingClock(), asyncio.Event()

    def begin(text: str) -> None:
        if not begun.is_set():
            begun.set()
            clock.leap(1_000)

    return await kernel.execute(code, timeout_seconds=1_000, on_output=begin)


async def run_until_heard(kernel: SessionKernel, folder: Path, words: str, code: str) -> Outcome:
    """Run code that goes on when there is a file `heard`: there is one once `words` have come."""
    heard = ""

    def listen(text: str) -> None:
        nonlocal heard
        heard += text
        if words in heard:
            (folder / "heard").touch()

    execution = kernel.execute(code, timeout_seconds=SECONDS, on_output=listen)
    return await asyncio.wait_for(execution, SECONDS)


async def until(fact: Callable[[], bool], what: str) -> None:
    for _ in range(int(SECONDS / 0.05)):
        if fact():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not within {SECONDS:g} s: {what}")


def is_gone(pid: int) -> bool:
    """No such process, or one that is dead and only waits for its parent to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def peak_memory(pid: int) -> int:
    """The greatest resident size in bytes since `forget_peak`."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def kernel_pid(kernel: SessionKernel) -> int:
    assert kernel.pid is not None
    return kernel.pid


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> list[int]:
    """The living processes that this one has started itself."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and not is_gone(int(name)) and parent_of(int(name)) == os.getpid():
            found.append(int(name))
    return sorted(found)


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
