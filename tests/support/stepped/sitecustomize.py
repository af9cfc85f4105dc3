"""Imported by every Python whose path begins here: its wall clock is as many seconds ahead as a file says.

Monotonic clocks go on as ever, as they do where somebody sets the time of a machine.
"""

from __future__ import annotations

import datetime
import os
import time
from datetime import datetime as true_datetime
from typing import Any

FILE = os.environ["STEPPED_CLOCK_FILE"]
READ_EVERY_SECONDS = 0.02

_true_time = time.time
_known: tuple[float, float] = (float("-inf"), 0.0)


def ahead() -> float:
    """How many seconds this process believes to be later than it is."""
    global _known
    now = time.monotonic()
    if now - _known[0] > READ_EVERY_SECONDS:
        with open(FILE, encoding="ascii") as file:
            _known = (now, float(file.read()))
    return _known[1]


class _Kind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, true_datetime)


class SteppedDatetime(true_datetime, metaclass=_Kind):
    """Makes true ones: nobody who is given one sees a difference."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return true_datetime.now(tz) + datetime.timedelta(seconds=ahead())

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.now()


time.time = lambda: _true_time() + ahead()
time.time_ns = lambda: int(time.time() * 1e9)
datetime.datetime = SteppedDatetime  # type: ignore[misc]
