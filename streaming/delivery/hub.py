"""Who listens in this process, and to what: one channel, and a watch for each session with a subscriber.

Subscribers hold cursors; nothing here queues for them. The hub belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from streaming.delivery.calls import Calls
from streaming.delivery.refusals import full, restarting, too_many
from streaming.delivery.watch import Station, Subscription, Watch
from streaming.feed.batch import Batch
from streaming.layer import PATIENCE_SECONDS, Message, listen, new_channel
from streaming.limits import DeliveryLimits


class Hub:
    """Made once a process; the first subscription opens its channel."""

    def __init__(self, layer: Any, calls: Calls, limits: DeliveryLimits) -> None:
        self.limits = limits
        # Set when the process goes: every stream ends and tells its client to come back.
        self.closing = asyncio.Event()
        self._station = Station(layer, calls, limits)
        self._channel: str | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscribers: Counter[int] = Counter()
        # How many are open here, lists included.
        self.streams = 0

    @property
    def layer(self) -> Any:
        return self._station.layer

    @property
    def watched(self) -> int:
        """How many sessions have a subscriber here."""
        return len(self._station.watches)

    @contextmanager
    def admitted(self, user_id: int) -> Iterator[None]:
        """One stream of a user, counted while it lasts.

        Raises a 429 Problem over the user's cap, 503 over the process's, or where the process goes.
        """
        if self.closing.is_set():
            raise restarting()
        if self._subscribers[user_id] >= self.limits.subscribers_per_user:
            raise too_many()
        if self.streams >= self.limits.subscribers:
            raise full()
        self.streams += 1
        self._subscribers[user_id] += 1
        try:
            yield
        finally:
            self.streams -= 1
            self._subscribers[user_id] -= 1
            if not self._subscribers[user_id]:
                del self._subscribers[user_id]

    async def subscribe(self, session_id: UUID) -> Subscription:
        """Returns when the group is joined: what is published from now on arrives, or shows as a gap."""
        channel = await self._open()
        watch = self._station.watches.get(session_id) or self._new_watch(session_id, channel)
        subscription = watch.enter()
        try:
            await watch.joined.wait()
        except BaseException:
            subscription.close()
            raise
        return subscription

    async def close(self) -> None:
        """End every stream with RESTARTING, then the hub's own tasks."""
        self.closing.set()
        tasks = [*self._tasks, *([self._receiver] if self._receiver else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            # Leaving is a courtesy: a layer that does not answer holds up nobody's end.
            await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
        self._receiver = self._channel = None

    async def _open(self) -> str:
        async with self._station.membership:
            if self._channel is None:
                self._channel = await new_channel(self.layer, "hub")
                self._receiver = asyncio.create_task(listen(self.layer, self._channel, self._dispatch))
            return self._channel

    def _new_watch(self, session_id: UUID, channel: str) -> Watch:
        watch = self._station.watches[session_id] = Watch(self._station, session_id, channel)
        task = asyncio.create_task(watch.run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return watch

    async def _dispatch(self, message: Message) -> None:
        watch = self._station.watches.get(UUID(message["session_id"]))
        if watch is not None:
            watch.take(Batch(message["generation"], message["first"], message["last"], message["text"]))
