"""Session lists: who is told that a summary changed. No replay; what a listener missed, `overflow` admits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
from django.contrib.auth.models import User

from sessions_app.problems import LiveUnavailable
from streaming.feed.events import encode
from streaming.layer import PATIENCE_SECONDS, Message, join_patiently, listen, losses, new_channel, part

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

    async def take(self, message: Message) -> None:
        for event in orjson.loads(message["text"])["events"]:
            self.add(event)

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
async def listening(layer: Any, user: User, seconds: float) -> AsyncIterator[Changes]:
    """A channel and a membership of the listener's own: lists are few, and their messages rare.

    Raises LiveUnavailable where the layer does not give them within `seconds`.
    """
    changes, group = Changes(), group_of(user)
    try:
        async with asyncio.timeout(seconds):
            channel = await new_channel(layer, "list")
            await join_patiently(layer, group, channel)
    except TimeoutError:
        raise LiveUnavailable from None
    receiver = asyncio.create_task(listen(layer, channel, changes.take, changes.overflow))
    losses(layer).add(changes.overflow)
    try:
        yield changes
    finally:
        losses(layer).discard(changes.overflow)
        receiver.cancel()
        # A layer that does not answer holds up nobody's end.
        await asyncio.wait([receiver], timeout=PATIENCE_SECONDS)
        await part(layer, group, channel)
