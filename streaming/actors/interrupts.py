"""A user's stop as an exception of its own, never confused with a task's cancellation from outside."""

from __future__ import annotations

import asyncio
from types import TracebackType


class RunInterrupted(Exception):
    """The run was asked to stop while it waited for something that can be let go."""


class InterruptScope:
    """Waits inside `async with scope:` end with RunInterrupted once `interrupt` was called, before or during.

    One task enters it, any number of times in turn; `interrupt` is for everybody else and may repeat. Like
    `asyncio.timeout`, it cancels the task and turns that one cancellation into its own exception; a
    cancellation that came from elsewhere passes through.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False
        self.requested = False

    def interrupt(self) -> None:
        self.requested = True
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def check(self) -> None:
        """Raise RunInterrupted if a stop was asked for."""
        if self.requested:
            raise RunInterrupted

    async def __aenter__(self) -> None:
        self.check()
        self._task = asyncio.current_task()
        self._cancelled = False

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if not self._cancelled or task is None:
            return
        self._cancelled = False
        remaining = task.uncancel()
        if kind is asyncio.CancelledError and remaining == 0:
            raise RunInterrupted from error
        if kind is None and remaining == 0:
            # The wait ended in the very moment of the stop: the pending cancellation must not hit later.
            raise RunInterrupted
