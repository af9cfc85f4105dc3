"""Which deadline ends an attempt next. Pure: readings of the clock are passed in, nothing waits here."""

from __future__ import annotations

from streaming.providers.errors import TimeoutScope
from streaming.providers.types import Profile

ENDING_SECONDS = 5.0


class Deadlines:
    """Connect, then first event, then silence; the request and the run over all of them.

    `run_deadline` is a reading of the same clock, None where the run has no end.
    """

    def __init__(self, profile: Profile, now: float, run_deadline: float | None) -> None:
        self._profile = profile
        self._request = now + profile.request_timeout
        self._run = run_deadline
        self._scope: TimeoutScope = "connect"
        self._step = now + profile.connect_timeout

    def opening(self, now: float) -> None:
        self._scope, self._step = "connect", now + self._profile.connect_timeout

    def connected(self, now: float) -> None:
        self._scope, self._step = "first_event", now + self._profile.first_event_timeout

    def event(self, now: float) -> None:
        self._scope, self._step = "idle", now + self._profile.idle_timeout

    def resumed(self, now: float) -> None:
        """The consumer asks for more. Its own time was not the provider's silence."""
        if self._scope == "idle":
            self.event(now)

    def ending(self, now: float) -> None:
        """All but the formal end has come: that is not worth an idle deadline's length."""
        self._step = min(self._step, now + ENDING_SECONDS)

    def next(self) -> tuple[TimeoutScope, float]:
        """The nearest one; the wider scope where two fall together."""
        ends: list[tuple[float, TimeoutScope]] = [(self._request, "request"), (self._step, self._scope)]
        if self._run is not None:
            ends.insert(0, (self._run, "run"))
        at, scope = min(ends, key=lambda end: end[0])
        return scope, at
