"""The kernel of one session: taken from the pool when it is first needed, replaced when it is lost.

One execution at a time, by one caller. Must not outlive its session: `close` it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from uuid_utils.compat import uuid7

from streaming.kernel.execution import Execution
from streaming.kernel.manager import Kernel
from streaming.kernel.outputs import OutputFolder
from streaming.kernel.pool import KernelPool
from streaming.kernel.values import Outcome

logger = logging.getLogger(__name__)


def new_artifact_id() -> str:
    return str(uuid7())


class SessionKernel:
    """`state`: `none` before the first use and after `close`, `live`, or `lost` until the next use."""

    def __init__(
        self,
        pool: KernelPool,
        workspace: Path,
        *,
        new_id: Callable[[], str] = new_artifact_id,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._pool = pool
        self._workspace = workspace
        self._new_id = new_id
        self._now = now
        self._kernel: Kernel | None = None
        self._lost = False
        self._current: asyncio.Event | None = None

    @property
    def alive(self) -> bool:
        return self._kernel is not None and self._kernel.alive

    @property
    def pid(self) -> int | None:
        return self._kernel.pid if self._kernel is not None else None

    @property
    def state(self) -> Literal["none", "live", "lost"]:
        if self.alive:
            return "live"
        return "lost" if self._lost or self._kernel is not None else "none"

    async def execute(
        self,
        code: str,
        *,
        timeout_seconds: float,
        on_output: Callable[[str], None] = lambda text: None,
        interrupted: asyncio.Event | None = None,
    ) -> Outcome:
        """Run `code` to its end. Set `interrupted`, before or while it runs, and it ends as `interrupted`.

        `on_output` gets each piece of text as it comes and must not block. Raises KernelStartFailed
        where no kernel can be had. Cancelled, it drops the kernel, whose state is then lost.
        """
        if self._current is not None:
            raise RuntimeError("this kernel is already running something")
        self._current = interrupted or asyncio.Event()
        try:
            return await self._execute(code, timeout_seconds, on_output, self._current)
        finally:
            self._current = None

    def interrupt(self) -> bool:
        """Begin to stop what runs now; `execute` returns by itself. False where nothing runs."""
        if self._current is None:
            return False
        self._current.set()
        return True

    async def restart(self) -> None:
        """Drop the kernel. The next call gets a fresh one, and says that the state is lost."""
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            self._lost = True
            await self._pool.discard(kernel)

    async def close(self) -> None:
        await self.restart()
        self._lost = False

    async def _execute(
        self, code: str, timeout_seconds: float, on_output: Callable[[str], None], stop: asyncio.Event
    ) -> Outcome:
        kernel = await self._usable(stop)
        if kernel is None:
            return Outcome("interrupted", interrupted_at=self._now())
        # What was lost before this call is told once, with this call.
        lost_before, self._lost = self._lost, False
        folder = OutputFolder(self._pool.limits, self._new_id, _guarded(on_output))
        execution = Execution(kernel, folder)
        watcher = asyncio.create_task(_stop_when(stop, execution))
        try:
            ending = await execution.run(code, timeout_seconds)
        except BaseException:
            kernel.kill()
            await self.restart()
            raise
        finally:
            watcher.cancel()
        kept = kernel.alive
        if not kept:
            await self.restart()
            self._lost = False
        stopped_at = self._now() if ending in ("interrupted", "timeout") else None
        state: Literal["idle", "restarted"] = "idle" if kept else "restarted"
        return Outcome(ending, folder.output(), state, lost_before or not kept, stopped_at)

    async def _usable(self, stop: asyncio.Event) -> Kernel | None:
        """The kernel, a new one where there is none; None where the stop came first."""
        if self._kernel is not None and not self._kernel.alive:
            await self.restart()
        if stop.is_set():
            return None
        if self._kernel is None:
            await self._acquire(stop)
        return self._kernel

    async def _acquire(self, stop: asyncio.Event) -> None:
        acquiring = asyncio.create_task(self._pool.acquire(self._workspace))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({acquiring, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            acquiring.add_done_callback(lambda task: task.cancelled() or task.exception())
            if not acquiring.done():
                acquiring.cancel()
            elif acquiring.exception() is None:
                # Kept also when the caller is cancelled in this moment: it is ours to close.
                self._kernel = acquiring.result()
        if acquiring.done():
            acquiring.result()


async def _stop_when(stop: asyncio.Event, execution: Execution) -> None:
    await stop.wait()
    execution.stop("interrupted")


def _guarded(on_output: Callable[[str], None]) -> Callable[[str], None]:
    """A listener that fails is not asked again: the execution is not to suffer from it."""
    failed = False

    def call(text: str) -> None:
        nonlocal failed
        if failed:
            return
        try:
            on_output(text)
        except Exception:
            failed = True
            logger.exception("a listener of live output failed")

    return call
