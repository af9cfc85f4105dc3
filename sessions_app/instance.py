"""This process: the id that tells it from its forerunner, whether it is on its way out, and runs actors."""

from __future__ import annotations

import time
from collections.abc import Callable

from sessions_app.ids import new_id

VERSION = "0.1.0"
INSTANCE_ID = str(new_id())


class Draining:
    """Set once by whoever handles SIGTERM; only read by others."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        self.begun = True


draining = Draining()


class Hosting:
    """Whether actors are run here, as their host said last; one that falls silent is not believed long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = float("-inf")

    @property
    def alive(self) -> bool:
        return self._clock() < self._until

    def beat(self, seconds: float) -> None:
        self._until = self._clock() + seconds

    def end(self) -> None:
        self._until = float("-inf")


hosting = Hosting()
