"""A hub on a layer that refuses: what it goes on with, and what it does not gather meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from streaming import layer as layers
from streaming.delivery import watch
from streaming.delivery.mirror import Next
from streaming.feed.batch import Batch
from tests.unit.delivery.actor import note
from tests.unit.delivery.facts import until
from tests.unit.delivery.house import House


class Refusal:
    """Parts of a layer that fail while it lasts, and how often they were tried."""

    def __init__(self, layer: Any, *parts: str) -> None:
        self._layer, self._parts = layer, parts
        self.tries = 0

    def __enter__(self) -> Refusal:
        for part in self._parts:
            setattr(self._layer, part, self._fail)
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            delattr(self._layer, part)

    async def _fail(self, *_: object) -> None:
        self.tries += 1
        raise ConnectionError("away")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(layers, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(watch, "RETRY_SECONDS", 0.01)
    yield
    layers._told.clear()


async def test_who_gives_up_before_the_group_is_joined_leaves_no_task_behind(house: House) -> None:
    with Refusal(house.broadcast, "group_add") as refusal:
        for _ in range(5):
            subscribing = asyncio.create_task(house.hub.subscribe(house.session_id))
            before = refusal.tries
            await until(lambda: refusal.tries > before + 2, "joining is tried")  # noqa: B023
            subscribing.cancel()
            await asyncio.gather(subscribing, return_exceptions=True)
        await until(lambda: not house.hub._tasks, "nobody joins for nobody")
    assert house.hub.watched == 0


async def test_a_hub_whose_channel_cannot_be_opened_opens_it_later(house: House) -> None:
    with Refusal(house.broadcast, "new_channel") as refusal:
        subscribing = asyncio.create_task(house.hub.subscribe(house.session_id))
        await until(lambda: refusal.tries > 2, "opening is tried")
    async with asyncio.timeout(30):
        await subscribing
    assert house.hub.watched == 1


async def test_a_member_that_hears_nothing_joins_for_real(house: House) -> None:
    """The layer takes the hub for a member and delivers nothing: joining again would change nothing."""
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await until(lambda: actor.watchers, "the hub has found the actor")
    group, left = f"session.{house.session_id.hex}", []
    discard = house.broadcast.group_discard

    async def noted(name: str, channel: str) -> None:
        left.append(name)
        await discard(name, channel)

    house.broadcast.group_discard = noted
    await actor.publish(note("unheard"), lose=True)
    await until(lambda: subscription.next(actor.generation, 0) is Next.BEHIND, "the loss shows")
    assert left == [group]
    await actor.publish(note("heard"))
    await until(lambda: isinstance(subscription.next(actor.generation, 1), Batch), "it is heard again")


async def test_a_beat_that_no_layer_takes_is_one_of_many(house: House) -> None:
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await until(lambda: actor.watchers, "the hub has found the actor")
    with Refusal(house.commands, "send") as refusal:
        await actor.publish(note("unheard"), lose=True)
        await until(lambda: refusal.tries > 2, "the actor is asked")
        assert subscription.next(actor.generation, 0) is Next.NOTHING
    await until(lambda: subscription.next(actor.generation, 0) is Next.BEHIND, "the loss shows")
