"""One execution: over when the shell's reply and iopub's idle have both come, or the kernel has ended.

It is stopped by SIGINT and a message that wakes the kernel's loop, gently repeated, and at the
end of the grace by killing the kernel. Must not decide what happens to the kernel afterwards.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from streaming.kernel.channels import Channel
from streaming.kernel.manager import Kernel
from streaming.kernel.outputs import OutputFolder
from streaming.kernel.wire import Message

Stop = Literal["interrupted", "timeout"]
Ending = Literal["ok", "error", "died", "interrupted", "timeout"]

FIRST_PROBE_SECONDS = 2.0
LAST_PROBE_SECONDS = 60.0
NUDGE_SECONDS = 0.4
SETTLE_SECONDS = 0.05
SETTLE_ROUNDS = 20


@dataclass(slots=True)
class Seen:
    """What has come for one request: its reply on the shell, its idle on iopub."""

    channels: set[Channel] = field(default_factory=set)
    reply: Message | None = None

    def note(self, channel: Channel, message: Message) -> None:
        if channel == "shell":
            self.reply = message
            self.channels.add(channel)
        elif message.kind == "status" and message.content.get("execution_state") == "idle":
            self.channels.add(channel)


class Execution:
    """Runs once. `stop` may be called at any time, from the loop, also before `run` has begun."""

    def __init__(self, kernel: Kernel, folder: OutputFolder) -> None:
        self._kernel = kernel
        self._folder = folder
        self._own = Seen()
        self._later = Seen()
        self._ids: list[str] = []
        self._changed = asyncio.Event()
        self._stop: Stop | None = None

    def stop(self, cause: Stop) -> None:
        """Begin to stop it. The first cause stands; repeating changes nothing."""
        self._stop = self._stop or cause
        self._changed.set()

    async def run(self, code: str, timeout_seconds: float, *, silent: bool = False) -> Ending:
        """Run to the end. After a stop the kernel is idle, or killed: `Kernel.alive` says which."""
        self._kernel.process.watchers.add(self._changed.set)
        timer = asyncio.get_running_loop().call_later(timeout_seconds, self.stop, "timeout")
        try:
            if self._stop is None:
                self._send(code, silent)
                await self._until_over_or_stopped()
            if self._stop is not None and self._ids:
                await self._enforce_stop()
        finally:
            timer.cancel()
            self._kernel.process.watchers.discard(self._changed.set)
            for message_id in self._ids:
                self._kernel.channels.forget(message_id)
        ending = self._ending()
        if self._asks_to_exit():
            # `exit()` ends the kernel a moment after its reply: better now than in the next call.
            self._kernel.kill()
            await self._kernel.process.ended()
        return ending

    def _send(self, code: str, silent: bool) -> None:
        request = {
            "code": code,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        self._ids.append(self._kernel.channels.send("execute_request", request, self._on_own))

    async def _until_over_or_stopped(self) -> None:
        pause = FIRST_PROBE_SECONDS
        while not self._over() and self._stop is None:
            if await self._wait(pause):
                continue
            self._probe()
            pause = FIRST_PROBE_SECONDS if self._own.channels else min(pause * 2, LAST_PROBE_SECONDS)
        await self._settle_if_dead()

    async def _enforce_stop(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._kernel.limits.interrupt_grace_seconds
        pause = NUDGE_SECONDS
        while not self._over() and loop.time() < deadline:
            self._kernel.process.interrupt()
            # An awaiting cell sees the signal only when something wakes the kernel's loop.
            self._probe()
            nudge = min(loop.time() + pause, deadline)
            pause *= 2
            while not self._over() and loop.time() < nudge:
                await self._wait(nudge - loop.time())
        if not self._over():
            self._kernel.kill()
            await self._kernel.process.ended()
        await self._settle_if_dead()

    def _probe(self) -> None:
        """Ask something that the kernel answers after this execution: answered, ours can never come again."""
        self._ids.append(self._kernel.channels.send("kernel_info_request", {}, self._on_later))

    async def _wait(self, seconds: float) -> bool:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _settle_if_dead(self) -> None:
        """What a dead kernel had sent is still on its way: read until nothing comes, for a second at most."""
        if self._kernel.alive:
            return
        for _ in range(SETTLE_ROUNDS):
            before = self._kernel.channels.received
            await asyncio.sleep(SETTLE_SECONDS)
            if self._kernel.channels.received == before:
                return

    def _over(self) -> bool:
        heard = self._own.channels | self._later.channels
        return len(heard) == 2 or not self._kernel.alive

    def _on_own(self, channel: Channel, message: Message) -> None:
        self._own.note(channel, message)
        if channel == "iopub":
            self._folder.fold(message.kind, message.content)
        if self._own.channels:
            self._changed.set()

    def _on_later(self, channel: Channel, message: Message) -> None:
        self._later.note(channel, message)
        self._changed.set()

    def _asks_to_exit(self) -> bool:
        payload = self._own.reply.content.get("payload") if self._own.reply else None
        items = payload if isinstance(payload, list) else []
        return any(isinstance(item, dict) and item.get("source") == "ask_exit" for item in items)

    def _ending(self) -> Ending:
        reply = self._own.reply.content if self._own.reply else {}
        if reply.get("status") == "error":
            self._folder.fold_error(reply)
        if self._stop is not None:
            return self._stop
        if not self._kernel.alive:
            return "died"
        if self._own.reply is None or "iopub" not in self._own.channels:
            self._folder.note("a part of this call's output was too large to be read, and is lost")
        return "ok" if reply.get("status") == "ok" else "error"
