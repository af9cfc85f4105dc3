"""How many subscribers watch a session, as each process's hub last said. Pure; times are passed in."""

from __future__ import annotations

# A hub says its count every beat; one that missed this many is gone, with all who watched there.
MISSED_BEATS = 3


class Watchers:
    """Counts by hub, forgotten when a hub falls silent."""

    def __init__(self, beat_seconds: float) -> None:
        self._lasts_seconds = MISSED_BEATS * beat_seconds
        self._counts: dict[str, tuple[int, float]] = {}

    def count(self, watcher: str, count: int, now: float) -> None:
        if count:
            self._counts[watcher] = (count, now)
        else:
            self._counts.pop(watcher, None)

    def total(self, now: float) -> int:
        self._counts = {
            watcher: (count, heard_at)
            for watcher, (count, heard_at) in self._counts.items()
            if now - heard_at <= self._lasts_seconds
        }
        return sum(count for count, _ in self._counts.values())
