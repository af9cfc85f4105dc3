"""A hub on real in-memory layers, with short times, closed after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from streaming.delivery.hub import Hub
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.limits import DeliveryLimits
from tests.unit.delivery.actor import AddressBook, FakeActor

# What a test waits for comes soon; what it does not wait for has the time of a busy machine.
LIMITS = DeliveryLimits(
    keepalive_seconds=0.05,
    send_seconds=100.0,
    heal_seconds=0.05,
    capture_seconds=40.0,
    subscribers_per_user=3,
    subscribers=4,
    mirror_batches=8,
)


@dataclass
class House:
    """One process's delivery, and the actors it may meet."""

    commands: MemoryChannelLayer
    broadcast: MemoryChannelLayer
    calls: AddressBook
    hub: Hub
    session_id: UUID

    async def actor(self, number: int = 1, *, hello: bool = True, window_events: int = 1_024) -> FakeActor:
        actor = FakeActor(self.commands, self.broadcast, self.session_id, number, window_events=window_events)
        self.calls.actors[self.session_id] = await actor.start(hello=hello)
        return actor


@asynccontextmanager
async def open_house() -> AsyncIterator[House]:
    commands, broadcast = MemoryChannelLayer(), MemoryChannelLayer()
    calls = AddressBook(commands)
    made = House(commands, broadcast, calls, Hub(broadcast, calls, LIMITS), uuid4())
    yield made
    await made.hub.close()
    for actor in calls.actors.values():
        await actor.die()
    await calls.close()
