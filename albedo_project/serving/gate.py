"""The flow-control gate: open while the transport takes more, closed while its buffer is full.

Twisted pauses and resumes it as a push producer; whoever sends waits for it. One gate a connection.
"""

from __future__ import annotations

import asyncio
import time

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer  # type: ignore[import-untyped]


@implementer(IPushProducer)
class Gate:
    """`passed` returns when the transport can take more, or is gone."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        # When the transport last took what had to wait, on the monotonic clock.
        self.moved_at = 0.0

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def passed(self) -> None:
        await self._open.wait()

    def pauseProducing(self) -> None:
        self._open.clear()

    def resumeProducing(self) -> None:
        self.moved_at = time.monotonic()
        self._open.set()

    def stopProducing(self) -> None:
        # The connection is lost: whoever waits goes on and finds it closed.
        self._open.set()
