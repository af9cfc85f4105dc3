"""Session lists: who is told that a summary changed. No replay; what a listener missed, `overflow` admits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
from django.contrib.auth.models import User

from streaming.delivery.calls import RECEIVE_RETRY_SECONDS
from streaming.feed.events import encode

logger = logging.getLogger(__name__)

# Changes that wait for one listener; the same change of the same session waits once.
PENDING_MOST = 256
READY = encode({"events": [{"type": "ready"}]})
KEEPALIVE = encode({"events": []})

Change = tuple[str, str]


class Changes:
    """What one listener has not been told yet; bounded, repeats merged."""

    def __init__(self) -> None:
        self._pending: dict[Change, dict[str, Any]] = {}
        self._overflowed = False
        self._arrived = asyncio.Event()

    def add(self, event: dict[str, Any]) -> None:
        self._pending[(event["type"], event["session_id"])] = event
        if len(self._pending) > PENDING_MOST:
            self.overflow()
        self._arrived.set()

    def overflow(self) -> None:
        """Something was or may have been lost: the listener is to read all again."""
        self._pending.clear()
        self._overflowed = True
        self._arrived.set()

    async def next(self, seconds: float) -> str:
        """The envelope of what came, or an empty one after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        self._arrived.clear()
        events = [*([{"type": "overflow"}] if self._overflowed else []), *self._pending.values()]
        self._pending.clear()
        self._overflowed = False
        return encode({"events": events}) if events else KEEPALIVE


def group_of(user: User) -> str:
    """Staff see every session; a layer's message does not say its group, so nobody joins two."""
    return "staff" if user.is_staff else f"user.{user.pk}"


@asynccontextmanager
async def listening(layer: Any, user: User) -> AsyncIterator[Changes]:
    """A channel and a membership of the listener's own: lists are few, and their messages rare."""
    changes, group = Changes(), group_of(user)
    channel = await layer.new_channel("list")
    await layer.group_add(group, channel)
    receiver = asyncio.create_task(_receive(layer, channel, changes))
    try:
        yield changes
    finally:
        receiver.cancel()
        await asyncio.gather(receiver, return_exceptions=True)
        await layer.group_discard(group, channel)


async def _receive(layer: Any, channel: str, changes: Changes) -> None:
    while True:
        try:
            message = await layer.receive(channel)
            for event in orjson.loads(message["text"])["events"]:
                changes.add(event)
        except Exception:
            logger.warning("Changes of session lists cannot be received", exc_info=True)
            changes.overflow()
            await asyncio.sleep(RECEIVE_RETRY_SECONDS)
