"""A layer that forgets its members after a while, as Redis may after a day, here after two seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from channels_redis.core import RedisChannelLayer

from streaming.delivery.hub import Hub
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.delivery.watch import Subscription
from streaming.feed.batch import Batch
from tests.unit.delivery.actor import AddressBook, FakeActor, note
from tests.unit.delivery.house import LIMITS

PATIENCE_SECONDS = 40
EXPIRY_SECONDS = 2


@pytest.fixture
async def forgetful(redis_url: str) -> AsyncIterator[RedisChannelLayer]:
    host = {"address": redis_url, "socket_timeout": 20}
    made = RedisChannelLayer([host], group_expiry=EXPIRY_SECONDS, prefix=f"t{uuid4().hex}")
    yield made
    await made.close_pools()


async def heard(actor: FakeActor, subscription: Subscription) -> bool:
    """Whether what the actor says now comes by the layer, or shows as lost."""
    await actor.publish(note("a"))
    before = actor.window.newest - 1
    for _ in range(50):
        if isinstance(subscription.next(actor.generation, before), Batch):
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.mark.timeout(120)
async def test_a_subscription_outlasts_its_membership(forgetful: RedisChannelLayer) -> None:
    commands, session_id = MemoryChannelLayer(), uuid4()
    calls = AddressBook(commands)
    hub = Hub(forgetful, calls, LIMITS)
    actor = calls.actors[session_id] = await FakeActor(commands, forgetful, session_id).start()
    subscription = await hub.subscribe(session_id)
    forgotten, heard_again = 0, False
    async with asyncio.timeout(PATIENCE_SECONDS):
        while forgotten < 2 or not heard_again:
            heard_again = await heard(actor, subscription)
            forgotten += not heard_again
    await hub.close()
    await actor.die()
    await calls.close()
