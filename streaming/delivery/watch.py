"""One session as this process watches it: the group membership, the mirror, and the beat that heals both.

The beat tells the actor how many watch here and learns where it stands. A lost batch, a lost membership and a
lost actor all show in its answer, or in there being none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import Error

from sessions_app.store.claims import Address
from streaming.delivery.calls import Calls, NotTaken
from streaming.delivery.mirror import Mirror, Next
from streaming.feed.batch import Batch
from streaming.layer import RETRY_SECONDS, Message, complain, join, part, session_group
from streaming.limits import DeliveryLimits

logger = logging.getLogger(__name__)

# A reply may overtake the batch that it tells of; only what is missing after this long is lost.
OVERTAKING_SECONDS = 0.1
# Redis forgets members after a day.
REJOIN_SECONDS = 3_600.0


@dataclass(slots=True)
class Station:
    """What all watches of a process share."""

    layer: Any
    calls: Calls
    limits: DeliveryLimits
    watches: dict[UUID, Watch] = field(default_factory=dict)
    # Joining and leaving one group must not overtake each other.
    membership: asyncio.Lock = field(default_factory=asyncio.Lock)

    def forget(self, watch: Watch) -> None:
        """A later subscriber makes a new watch."""
        if self.watches.get(watch.session_id) is watch:
            del self.watches[watch.session_id]


class Subscription:
    """One subscriber's place at a watch: it is woken when there may be something behind its cursor."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._woken = asyncio.Event()

    def next(self, generation: str, sequence: int) -> Batch | Next:
        return self._watch.mirror.next(generation, sequence)

    def learn(self, generation: str, newest: int) -> None:
        """Tell the others what a page said."""
        self._watch.learn(generation, newest)

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Until woken; False when `seconds` passed without."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True

    def close(self) -> None:
        """Idempotent; the last one out ends the watch."""
        self._watch.leave(self)


class Watch:
    """Runs while somebody subscribes. `joined` is set while the group is joined."""

    def __init__(self, station: Station, session_id: UUID, channel: str) -> None:
        limits = station.limits
        self.session_id = session_id
        self.mirror = Mirror(limits.mirror_batches, limits.mirror_bytes)
        self.joined = asyncio.Event()
        self._group = session_group(session_id)
        self._station = station
        self._channel = channel
        self._subscriptions: set[Subscription] = set()
        self._changed = asyncio.Event()
        self._address: Address | None = None
        self._had_actor = False
        self._rejoin_at = 0.0

    def enter(self) -> Subscription:
        subscription = Subscription(self)
        self._subscriptions.add(subscription)
        self._changed.set()
        return subscription

    def leave(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        self._changed.set()
        if not self._subscriptions:
            self._station.forget(self)

    def take(self, received: Batch) -> None:
        self._had_actor = True
        if received.generation != self.mirror.generation:
            self._address = None
        if self.mirror.add(received):
            self._wake_all()

    def learn(self, generation: str, newest: int) -> None:
        if self.mirror.learn(generation, newest):
            self._wake_all()

    def _wake_all(self) -> None:
        for subscription in self._subscriptions:
            subscription.wake()

    async def run(self) -> None:
        """Join, beat until the last subscriber has left, leave."""
        try:
            while self._subscriptions:
                if await self._join():
                    break
                await asyncio.sleep(RETRY_SECONDS)
            while self._subscriptions:
                self._changed.clear()
                await self._beat()
                await _until(self._changed, self._station.limits.heal_seconds)
        finally:
            self._station.forget(self)
            await self._part()

    async def _join(self, *, anew: bool = False) -> bool:
        """Whether the layer took it. `anew`: leave first, it may hold us for a member that hears nothing."""
        async with self._station.membership:
            if anew:
                await part(self._station.layer, self._group, self._channel)
            joined = await join(self._station.layer, self._group, self._channel)
        self._rejoin_at = time.monotonic() + (REJOIN_SECONDS if joined else 0)
        if joined:
            self.joined.set()
        return joined

    async def _beat(self) -> None:
        try:
            if time.monotonic() >= self._rejoin_at:
                await self._join()
            if self._address is None:
                self._address = await self._station.calls.address(self.session_id)
            if self._address is not None:
                await self._compare(self._address)
            elif self._had_actor:
                # Actors stay while they are watched, so this one did not leave in order.
                await self._station.calls.claim(self.session_id)
        except Error as error:
            complain("watched sessions are not looked after", error)
        except Exception:
            logger.exception("Cannot look after %s", self._group)

    async def _compare(self, address: Address) -> None:
        message = self._count_message(len(self._subscriptions))
        try:
            reply = await self._station.calls.ask(address.channel, message, self._station.limits.heal_seconds)
        except NotTaken:
            return
        if reply is None:
            self._address = None
            return
        self._had_actor = True
        generation, newest = reply["generation"], reply["newest"]
        if self.mirror.lags(generation, newest):
            await asyncio.sleep(OVERTAKING_SECONDS)
        if self.mirror.lags(generation, newest):
            # Before the first word of an actor nothing can have been missed.
            await self._join(anew=self.mirror.generation is not None)
            self.learn(generation, newest)

    def _count_message(self, count: int) -> Message:
        return {"type": "actor.watch", "watcher": self._channel, "count": count}

    async def _part(self) -> None:
        async with self._station.membership:
            # Somebody came back meanwhile: membership and count are theirs now.
            if self.session_id in self._station.watches:
                return
            await part(self._station.layer, self._group, self._channel)
        if self._address is not None:
            unanswered = {"reply_to": "", "request_id": ""}
            await self._station.calls.tell(self._address.channel, {**self._count_message(0), **unanswered})


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
