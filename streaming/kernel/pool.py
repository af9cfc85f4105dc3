"""Keeps kernels ready, hands each to one session, and ends all of them with the server.

A kernel is never used twice: what one session did in it must not be seen by another.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import zmq.asyncio

from streaming import meters
from streaming.kernel.environment import MARKER, allowed_environment
from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.guard import Guard
from streaming.kernel.manager import Host, Kernel, start_kernel
from streaming.kernel.process import KernelProcess
from streaming.kernel.setup import enter_workspace
from streaming.limits import KernelLimits

# A refill waits this long, so that it does not compete with the first cell of who just took one.
REFILL_SECONDS = 0.2
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0


class KernelPool:
    """All kernels of one host process. Call everything on one loop, in a thread that lives as long as it.

    `environment` is the server's own: only the names on the allow-list, and `extra_names`, reach a kernel.
    """

    def __init__(
        self,
        limits: KernelLimits,
        environment: Mapping[str, str],
        *,
        extra_names: Iterable[str] = (),
        python: str = sys.executable,
    ) -> None:
        self.limits = limits
        self._python = python
        self._environment = allowed_environment(environment, extra_names)
        self._runtime_dir = environment.get("XDG_RUNTIME_DIR", "")
        self._host: Host | None = None
        self._warm: deque[asyncio.Task[Kernel]] = deque()
        self._out: set[Kernel] = set()
        self._refill_timer: asyncio.TimerHandle | None = None
        self._retry_seconds = RETRY_SECONDS
        self._closing = False

    @property
    def ready(self) -> int:
        """How many kernels wait to be taken."""
        return sum(1 for task in self._warm if task.done())

    @property
    def root(self) -> Path | None:
        """Where connection files and sockets lie while the pool runs."""
        return self._host.root if self._host else None

    @property
    def guardian_pid(self) -> int | None:
        return self._host.guard.pid if self._host else None

    @property
    def environment(self) -> Mapping[str, str]:
        """What processes beside kernels may see, too, of the server's environment."""
        return self._environment

    def mark(self, token: str) -> Mapping[str, str]:
        """Variables for a process that is no kernel: what has them ends with `unmark`, or with the server."""
        if self._host is None:
            return {}
        folder = self._host.root / f"marked-{token}"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._host.guard.add(token, None, folder)
        return {MARKER: token}

    def unmark(self, token: str) -> None:
        if self._host is not None:
            self._host.guard.end(token)

    async def start(self) -> None:
        """Start the guardian and begin to warm kernels; returns without waiting for them."""
        root = _run_root(self._runtime_dir)
        guard = Guard(root)
        guard.start()
        context = zmq.asyncio.Context()
        self._host = Host(self.limits, self._python, self._environment, root, guard, context)
        meters.KERNELS.labels("used").set_function(lambda: len(self._out))
        meters.KERNELS.labels("warm").set_function(lambda: len(self._warm))
        self._refill()

    async def acquire(self, workspace: Path) -> Kernel:
        """A kernel that stands in `workspace`, for the caller alone. Raises KernelStartFailed."""
        while True:
            was_warm = bool(self._warm)
            task = self._warm.popleft() if was_warm else self._spawn()
            self._refill_soon(REFILL_SECONDS)
            kernel = await self._claimed(task)
            self._out.add(kernel)
            try:
                await enter_workspace(kernel, workspace)
            except KernelStartFailed:
                died = not kernel.alive
                await self.discard(kernel)
                # A warm one may have died while it waited, noticed or not: it is passed over.
                if not (died and was_warm):
                    raise
            except BaseException:
                await self.discard(kernel)
                raise
            else:
                return kernel

    async def discard(self, kernel: Kernel) -> None:
        """End a kernel that was acquired, with all that it started."""
        self._out.discard(kernel)
        await kernel.close()

    async def aclose(self) -> None:
        """End every kernel, used or not, and the guardian."""
        self._closing = True
        if self._refill_timer is not None:
            self._refill_timer.cancel()
        if self._host is None:
            return
        for task in self._warm:
            task.cancel()
        warmed = await asyncio.gather(*self._warm, return_exceptions=True)
        self._warm.clear()
        kernels = [*self._out, *(kernel for kernel in warmed if isinstance(kernel, Kernel))]
        await asyncio.gather(*(self.discard(kernel) for kernel in kernels))
        await self._host.guard.close()
        self._host.context.destroy(linger=0)
        shutil.rmtree(self._host.root, ignore_errors=True)
        self._host = None

    async def _claimed(self, task: asyncio.Task[Kernel]) -> Kernel:
        try:
            return await task
        except asyncio.CancelledError:
            # Awaiting a task cancels it; one that was just done has made a kernel that nobody would end.
            if not task.cancelled() and task.exception() is None:
                await task.result().close()
            raise

    def _spawn(self) -> asyncio.Task[Kernel]:
        if self._host is None or self._closing:
            raise KernelStartFailed("kernels are not available: the server is stopping or not started")
        return asyncio.create_task(_counted(self._host))

    def _refill_soon(self, seconds: float) -> None:
        if self._refill_timer is not None:
            self._refill_timer.cancel()
        self._refill_timer = asyncio.get_running_loop().call_later(seconds, self._refill)

    def _refill(self) -> None:
        while len(self._warm) < self.limits.prewarmed and not self._closing:
            task = self._spawn()
            task.add_done_callback(self._on_warmed)
            self._warm.append(task)

    def _on_warmed(self, task: asyncio.Task[Kernel]) -> None:
        if task.cancelled():
            return
        if task.exception() is None:
            self._retry_seconds = RETRY_SECONDS
        elif task in self._warm:
            self._warm.remove(task)
            self._refill_soon(self._retry_seconds)
            self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)


async def _counted(host: Host) -> Kernel:
    try:
        kernel = await start_kernel(host)
    except KernelStartFailed:
        meters.KERNEL_STARTS.labels("failed").inc()
        raise
    meters.KERNEL_STARTS.labels("ok").inc()
    kernel.process.watchers.add(partial(_count_death, kernel.process))
    return kernel


def _count_death(process: KernelProcess) -> None:
    if not process.killed:
        meters.KERNEL_DEATHS.inc()


def _run_root(runtime_dir: str) -> Path:
    """A new folder of ours alone, under a path short enough for sockets."""
    usable = runtime_dir and os.path.isdir(runtime_dir) and os.access(runtime_dir, os.W_OK | os.X_OK)
    return Path(tempfile.mkdtemp(prefix="albedo-", dir=runtime_dir if usable else "/tmp"))  # noqa: S108
