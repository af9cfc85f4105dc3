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

from sessions_app.store.claims import Address
from streaming.delivery.calls import Calls
from streaming.delivery.mirror import Mirror, Next
from streaming.feed.batch import Batch
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
        self._group = f"session.{session_id.hex}"
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
            await self._join()
            while self._subscriptions:
                self._changed.clear()
                await self._beat()
                await _until(self._changed, self._station.limits.heal_seconds)
        finally:
            self._station.forget(self)
            await self._part()

    async def _join(self) -> None:
        """Also again: joining twice changes nothing."""
        self.joined.clear()
        while not self.joined.is_set():
            try:
                async with self._station.membership:
                    await self._station.layer.group_add(self._group, self._channel)
            except Exception:
                logger.warning("Cannot join %s", self._group, exc_info=True)
                await asyncio.sleep(self._station.limits.heal_seconds)
            else:
                self._rejoin_at = time.monotonic() + REJOIN_SECONDS
                self.joined.set()

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
        except Exception:
            logger.warning("Cannot look after %s", self._group, exc_info=True)

    async def _compare(self, address: Address) -> None:
        message = self._count_message(len(self._subscriptions))
        reply = await self._station.calls.ask(address.channel, message, self._station.limits.heal_seconds)
        if reply is None:
            self._address = None
            return
        self._had_actor = True
        generation, newest = reply["generation"], reply["newest"]
        if self.mirror.lags(generation, newest):
            await asyncio.sleep(OVERTAKING_SECONDS)
        if self.mirror.lags(generation, newest):
            await self._join()
            self.learn(generation, newest)

    def _count_message(self, count: int) -> dict[str, Any]:
        return {"type": "actor.watch", "watcher": self._channel, "count": count}

    async def _part(self) -> None:
        async with self._station.membership:
            # Somebody came back meanwhile: membership and count are theirs now.
            if self.session_id in self._station.watches:
                return
            try:
                await self._station.layer.group_discard(self._group, self._channel)
            except Exception:
                logger.warning("Cannot leave %s", self._group, exc_info=True)
        if self._address is not None:
            unanswered = {"reply_to": "", "request_id": ""}
            await self._station.calls.tell(self._address.channel, {**self._count_message(0), **unanswered})


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
