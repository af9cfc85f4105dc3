"""A flag that any thread may set and any event loop may await, and the pair of them that holds a script."""

from __future__ import annotations

import asyncio
import threading


class Signal:
    """Set once, stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flag = threading.Event()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def set(self) -> None:
        with self._lock:
            self._flag.set()
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def is_set(self) -> bool:
        return self._flag.is_set()

    async def wait(self) -> None:
        with self._lock:
            if self._flag.is_set():
                return
            event = asyncio.Event()
            self._waiters.append((asyncio.get_running_loop(), event))
        await event.wait()

    def wait_in_thread(self, timeout_seconds: float) -> bool:
        """For code without an event loop; False where the time ran out."""
        return self._flag.wait(timeout_seconds)


class Barrier:
    """A script that comes here sets `reached` and goes on when `release` is set."""

    def __init__(self) -> None:
        self.reached = Signal()
        self.release = Signal()

    async def hold(self) -> None:
        self.reached.set()
        await self.release.wait()
