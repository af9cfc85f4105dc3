"""An event loop's clock that a test sets forward, so that a deadline is reached when the test says so."""

from __future__ import annotations

import asyncio


class LeapingClock:
    """The running loop's clock: it goes as before, and `leap` sets it forward for good.

    Every timer of the loop that falls due by a leap runs in the loop's next turn: wait for the fact that a
    deadline is to end, leap over it, then wait for what it does. No test has to be faster than a deadline.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._real = loop.time
        self._ahead = 0.0
        loop.time = self.time  # type: ignore[method-assign]

    def time(self) -> float:
        """Seconds, for code that takes its clock as a function."""
        return self._real() + self._ahead

    def leap(self, seconds: float) -> None:
        """To be called on the loop."""
        self._ahead += seconds
