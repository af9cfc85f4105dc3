"""A web process that is told to end, under a server that is not ours.

ASGI tells an application last of all: uvicorn waits for open responses first, and an event stream is one. So
the signal itself is listened to, beside the server's own handler.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGINT)


def on_signal(begin: Callable[[], None]) -> None:
    """Call `begin` in the running loop at each signal to end, and then whoever was there before.

    Without a handler of the server's there is no orderly end to be part of. Signals are the main thread's.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in ENDING:
        before = signal.getsignal(number)
        if callable(before):
            signal.signal(number, partial(_told, loop, begin, before))


def end_with_zero() -> None:
    """An orderly end is no death by signal: uvicorn raises SIGTERM once more when all is done.

    To be called at the very end. Only this thread is deaf to it then: others still let the process be ended.
    """
    if threading.current_thread() is threading.main_thread():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _told(
    loop: asyncio.AbstractEventLoop,
    begin: Callable[[], None],
    before: Callable[[int, FrameType | None], Any],
    number: int,
    frame: FrameType | None,
) -> None:
    loop.call_soon_threadsafe(begin)
    before(number, frame)
