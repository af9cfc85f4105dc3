"""How much one transaction takes, so that it takes about as long as others may wait for it."""

from __future__ import annotations

# Rows and pages are of all sizes, so time is what tells.
AIM_SECONDS = 0.05


class Pace:
    """The next one takes `size`: twice as much where the last was quick, half where it was slow."""

    def __init__(self, first: int, most: int) -> None:
        self.size = first
        self.took_seconds = 0.0
        self._most = most

    def took(self, seconds: float) -> None:
        self.took_seconds = seconds
        if seconds < AIM_SECONDS / 2:
            self.size = min(2 * self.size, self._most)
        elif seconds > 2 * AIM_SECONDS:
            self.size = max(self.size // 2, 1)
