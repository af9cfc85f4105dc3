from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User

from sessions_app.problems import LiveUnavailable
from streaming import layer as layers
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.delivery.summaries import PENDING_MOST, Changes, group_of, listening
from streaming.feed.events import encode


def change(session: str, kind: str = "invalidate") -> dict[str, Any]:
    return {"type": kind, "session_id": session}


async def told(changes: Changes, seconds: float = 0.0) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = orjson.loads(await changes.next(seconds))["events"]
    return events


async def test_repeats_are_merged_and_told_once() -> None:
    changes = Changes()
    for _ in range(5):
        changes.add(change("a"))
    changes.add(change("a", "activity"))
    assert await told(changes) == [change("a"), change("a", "activity")]
    assert await told(changes) == []


async def test_too_many_are_dropped_and_the_loss_is_told() -> None:
    changes = Changes()
    for number in range(PENDING_MOST + 1):
        changes.add(change(str(number)))
    changes.add(change("last"))
    assert await told(changes) == [{"type": "overflow"}, change("last")]
    assert await told(changes) == []


async def test_a_listener_hears_its_own_group_alone() -> None:
    layer = MemoryChannelLayer()
    owner, other, staff = User(id=1), User(id=2), User(id=3, is_staff=True)
    async with (
        listening(layer, owner, 30) as own,
        listening(layer, other, 30) as others,
        listening(layer, staff, 30) as all_,
    ):
        text = encode({"events": [change("a")]})
        for group in ("user.1", "staff"):
            await layer.group_send(group, {"type": "session.summary", "text": text})
        assert await told(own, 40.0) == [change("a")]
        assert await told(all_, 40.0) == [change("a")]
        assert await told(others) == []
    assert layer.groups == {}


class FailingLayer(MemoryChannelLayer):
    """Loses its connection as often as it is told, then goes on."""

    failures = 2

    async def receive(self, channel: str) -> dict[str, Any]:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("connection lost")
        return await super().receive(channel)


async def test_a_layer_that_fails_makes_no_listener_deaf_and_the_loss_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers, "RETRY_SECONDS", 0)
    layer = FailingLayer()
    async with listening(layer, User(id=1), 30) as changes:
        await layer.group_send(
            "user.1", {"type": "session.summary", "text": encode({"events": [change("a")]})}
        )
        heard: list[dict[str, Any]] = []
        async with asyncio.timeout(40):
            while change("a") not in heard:
                heard += await told(changes, 40.0)
    assert {"type": "overflow"} in heard


class AwayLayer(MemoryChannelLayer):
    async def group_add(self, group: str, channel: str) -> None:
        raise ConnectionError("away")


async def test_where_no_layer_would_tell_of_changes_no_listening_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers, "RETRY_SECONDS", 0)
    with pytest.raises(LiveUnavailable):
        async with listening(AwayLayer(), User(id=1), 0.05):
            raise AssertionError("it began")


def test_staff_hear_of_all_once() -> None:
    assert group_of(User(id=3, is_staff=True)) == "staff"
    assert group_of(User(id=4)) == "user.4"
