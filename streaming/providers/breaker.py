"""A breaker per endpoint and model: after enough failures in a row nothing is sent for a while.

Pure: the clock's reading is passed in. It knows nothing of why a request failed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

Key = tuple[str, str]
"""(base_url, model)"""

FAILURES_TO_OPEN = 10
OPEN_SECONDS = 30.0
# Profiles come and go in a long-lived process; the least recently used endpoint is forgotten.
MAX_KEYS = 1_024
# What one report names; whoever has more in trouble has one trouble.
MAX_REPORTED = 200

State = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How one endpoint stands: failures in a row, and the seconds for which nothing is sent (0.0: none)."""

    key: Key
    state: State
    failures: int
    wait_seconds: float


@dataclass(slots=True)
class _State:
    failures: int = 0
    opened_at: float | None = None
    probing: bool = False


class Breaker:
    """Opens after `failures` failed requests in a row; half-opens after `open_seconds` for one probe."""

    def __init__(self, failures: int = FAILURES_TO_OPEN, open_seconds: float = OPEN_SECONDS) -> None:
        self._failures = failures
        self._open_seconds = open_seconds
        self._states: OrderedDict[Key, _State] = OrderedDict()

    def wait_seconds(self, key: Key, now: float) -> float:
        """0.0: a request may be sent, and must be followed by `record` or `release`. Else how long not."""
        state = self._state(key)
        if state.opened_at is None:
            return 0.0
        left = state.opened_at + self._open_seconds - now
        if left > 0:
            return left
        if state.probing:
            return self._open_seconds
        state.probing = True
        return 0.0

    def record(self, key: Key, *, failed: bool, now: float) -> None:
        """How a request that was allowed has ended. One success closes the breaker."""
        state = self._state(key)
        state.probing = False
        if not failed:
            state.failures, state.opened_at = 0, None
            return
        state.failures += 1
        if state.failures >= self._failures:
            state.opened_at = now

    def release(self, key: Key) -> None:
        """The request was allowed and then cancelled: it says nothing, and another may probe."""
        self._state(key).probing = False

    def report(self, now: float) -> list[Standing]:
        """Endpoints with a failure, those not closed first, then the last used; at most `MAX_REPORTED`."""
        recent = reversed(self._states.items())
        found = [self._standing(key, state, now) for key, state in recent if state.failures]
        return sorted(found, key=lambda standing: standing.state == "closed")[:MAX_REPORTED]

    def _standing(self, key: Key, state: _State, now: float) -> Standing:
        if state.opened_at is None:
            return Standing(key, "closed", state.failures, 0.0)
        left = max(0.0, state.opened_at + self._open_seconds - now)
        return Standing(key, "open" if left > 0 else "half_open", state.failures, left)

    def _state(self, key: Key) -> _State:
        state = self._states.setdefault(key, _State())
        self._states.move_to_end(key)
        while len(self._states) > MAX_KEYS:
            self._states.popitem(last=False)
        return state
