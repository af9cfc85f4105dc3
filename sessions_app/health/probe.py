"""A question to a part of the server, put by one task at a time, however many want to know.

Whoever asks waits for a bounded time. A task that gets no answer is left to end by itself: it holds what it
holds, and until it is back its part is at fault and nothing further is started.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

log = logging.getLogger("albedo.health")

# Balancers ask every few seconds, several of them: one question a second is enough.
CACHE_SECONDS = 1.0
# A part that answered this recently is taken to be as it was, if it is slower now than `GRACE_SECONDS`.
FRESH_SECONDS = 10.0
GRACE_SECONDS = 0.5
PATIENCE_SECONDS = 3.0

Faults = frozenset[str]
"""Names of the parts that are at fault, none where all is well."""

Ask = Callable[[], Awaitable[Faults]]


@dataclass(frozen=True, slots=True)
class Finding:
    faults: Faults
    at: float


class Probe:
    """`part` is at fault where `ask` raises, or does not answer in `patience_seconds`. Of one event loop."""

    def __init__(self, part: str, ask: Ask, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._part = part
        self._ask = ask
        self._patience_seconds = patience_seconds
        self._clock = asyncio.get_running_loop().time
        self._task: asyncio.Task[Faults] | None = None
        self._began = 0.0
        self._last: Finding | None = None

    async def faults(self) -> Faults:
        """What is at fault, as of at most `CACHE_SECONDS` ago, or as far as is known in the time."""
        if self._task is None:
            if self._last is not None and self._clock() - self._last.at < CACHE_SECONDS:
                return self._last.faults
            self._began = self._clock()
            self._task = asyncio.create_task(self._asked(), name=f"health-{self._part}")
        return await self._waited(self._task)

    async def _waited(self, task: asyncio.Task[Faults]) -> Faults:
        last = self._last
        fresh = last is not None and self._clock() - last.at < FRESH_SECONDS
        left = self._began + self._patience_seconds - self._clock()
        if not task.done() and left > 0:
            await asyncio.wait({task}, timeout=min(GRACE_SECONDS, left) if fresh else left)
        if task.done():
            return self._taken(task)
        overdue = self._clock() - self._began >= self._patience_seconds
        return last.faults if last is not None and fresh and not overdue else Faults({self._part})

    def _taken(self, task: asyncio.Task[Faults]) -> Faults:
        """The answer, kept by whoever takes it first."""
        faults = Faults({self._part}) if task.cancelled() else task.result()
        if self._task is task:
            self._task = None
            self._last = Finding(faults, self._clock())
        return faults

    async def _asked(self) -> Faults:
        try:
            return await self._ask()
        except Exception as error:
            # Whoever is asked every few seconds says a lasting trouble once.
            if self._last is None or self._part not in self._last.faults:
                log.warning("%s is at fault: %s", self._part, type(error).__name__)
            return Faults({self._part})
