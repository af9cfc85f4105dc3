"""`manage.py` with a clock that leaps: at SIGUSR1 every event loop's time goes on by LEAP_SECONDS.

Timers of the loops that fall due run at once, as they would have later. What measures by `time.monotonic`
(leases) or by the database's clock sees nothing of it. Run as a module.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import signal
import sys

LEAP_SECONDS = 100.0


class LeapingLoop(asyncio.SelectorEventLoop):
    ahead = 0.0

    def time(self) -> float:
        return super().time() + LeapingLoop.ahead


class LeapingPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return LeapingLoop()


def leap(number: int, frame: object) -> None:
    # The loop is awake: its own handlers of signals have it woken at each one.
    LeapingLoop.ahead += LEAP_SECONDS


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, leap)
    asyncio.set_event_loop_policy(LeapingPolicy())
    sys.argv[0] = os.path.abspath("manage.py")
    runpy.run_path(sys.argv[0], run_name="__main__")
