"""Rare orders of messages, played by the test: when an execution is over, and as what."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
import zmq.asyncio

from streaming.kernel.execution import FIRST_PROBE_SECONDS, Ending, Execution
from streaming.kernel.guard import Guard
from streaming.kernel.manager import Host, Kernel
from streaming.kernel.outputs import OutputFolder
from streaming.kernel.process import KernelProcess
from streaming.limits import KernelLimits
from tests.integration.kernel.support import SECONDS, until
from tests.support.clock import LeapingClock
from tests.unit.kernel.peer import KEY, Peer

LIMITS = KernelLimits(interrupt_grace_seconds=0.5)


@pytest_asyncio.fixture
async def kernel(context: zmq.asyncio.Context, folder: Path, peer: Peer) -> AsyncIterator[Kernel]:
    """A kernel whose process only sleeps, and ignores SIGINT: the test speaks for it."""
    process = subprocess.Popen(["sh", "-c", "trap '' INT; sleep 1000"], start_new_session=True)
    host = Host(LIMITS, "python", {}, folder, Guard(folder), context)
    made = Kernel(host, "token", folder, KernelProcess(process), KEY)
    await peer.subscribed()
    yield made
    await made.close()


class Running:
    def __init__(self, kernel: Kernel, timeout_seconds: float = SECONDS) -> None:
        self._clock = LeapingClock()
        self.folder = OutputFolder(LIMITS, lambda: "id", lambda text: None)
        self.execution = Execution(kernel, self.folder)
        self.task = asyncio.create_task(self.execution.run("code", timeout_seconds))

    @property
    def heard(self) -> set[str]:
        """The channels on which its own end was heard."""
        return {str(channel) for channel in self.execution._own.channels}

    async def probed(self, peer: Peer) -> str:
        """Time passes; the id of what the kernel is asked then."""
        self._clock.leap(FIRST_PROBE_SECONDS)
        return await peer.asked("kernel_info_request")

    async def ending(self) -> Ending:
        return await asyncio.wait_for(self.task, SECONDS)


async def test_the_reply_alone_is_not_the_end(kernel: Kernel, peer: Peer) -> None:
    running = Running(kernel)
    asked = await peer.asked("execute_request")
    await peer.reply(asked, status="ok")
    await until(lambda: running.heard == {"shell"}, "the reply is heard")
    await running.probed(peer)
    assert not running.task.done()
    await peer.say(asked, "stream", text="late but ours")
    await peer.idle(asked)
    assert await running.ending() == "ok"
    assert running.folder.output().text == "late but ours"


async def test_the_idle_alone_is_not_the_end(kernel: Kernel, peer: Peer) -> None:
    running = Running(kernel)
    asked = await peer.asked("execute_request")
    await peer.idle(asked)
    await until(lambda: running.heard == {"iopub"}, "the idle is heard")
    await running.probed(peer)
    assert not running.task.done()
    await peer.reply(asked, status="error", ename="E", evalue="m", traceback=[])
    assert await running.ending() == "error"
    error = running.folder.output().error
    assert error is not None
    assert error.name == "E"


async def test_a_forged_end_for_somebody_else_ends_nothing(kernel: Kernel, peer: Peer) -> None:
    running = Running(kernel)
    asked = await peer.asked("execute_request")
    await peer.idle("somebody else")
    await peer.reply("somebody else", status="ok")
    await until(lambda: kernel.channels.received >= 1, "the forged idle is heard")
    await running.probed(peer)
    assert not running.task.done()
    await peer.idle(asked)
    await peer.reply(asked, status="ok")
    assert await running.ending() == "ok"


async def test_a_lost_end_is_known_by_the_answer_to_a_later_question(kernel: Kernel, peer: Peer) -> None:
    running = Running(kernel)
    asked = await peer.asked("execute_request")
    await peer.say(asked, "stream", text="kept")
    later = await running.probed(peer)
    await peer.idle(later)
    await peer.reply(later, status="ok")
    assert await running.ending() == "error"
    output = running.folder.output()
    assert output.text == "kept"
    assert "lost" in (output.displays[0].text or "")


async def test_a_kernel_that_never_answers_is_killed_after_its_time(kernel: Kernel, peer: Peer) -> None:
    running = Running(kernel, timeout_seconds=0.1)
    await peer.asked("execute_request")
    assert await running.ending() == "timeout"
    assert not kernel.alive


async def test_a_stop_before_it_runs_sends_nothing(kernel: Kernel, peer: Peer) -> None:
    folder = OutputFolder(LIMITS, lambda: "id", lambda text: None)
    execution = Execution(kernel, folder)
    execution.stop("interrupted")
    execution.stop("timeout")
    assert await execution.run("code", SECONDS) == "interrupted"
    assert kernel.alive
    kernel.channels.send("comm_info_request", {}, lambda channel, message: None)
    await peer.asked("comm_info_request")
