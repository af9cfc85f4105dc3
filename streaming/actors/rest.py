"""When a session's kernel, and then its actor, has rested long enough to go. Pure; times are passed in.

A kernel with state is worth keeping for a while, a watcher keeps the actor, work keeps both.
"""

from __future__ import annotations

from typing import Literal

Verdict = Literal["stay", "cull", "leave"]


class Rest:
    """Asked again and again; `now` is a reading of one monotonic clock, in seconds."""

    def __init__(self, idle_seconds: float, kernel_idle_seconds: float, now: float) -> None:
        self._idle_seconds = idle_seconds
        self._kernel_idle_seconds = kernel_idle_seconds
        self._worked_at = now
        self._wanted_at = now

    def judge(self, now: float, *, busy: bool, kernel: bool, watched: bool) -> Verdict:
        """`cull` ends the kernel alone; `leave` ends the actor, which has no kernel then."""
        if busy:
            self._worked_at = now
        if busy or kernel or watched:
            self._wanted_at = now
        if kernel and now - self._worked_at >= self._kernel_idle_seconds:
            return "cull"
        return "leave" if now - self._wanted_at >= self._idle_seconds else "stay"
