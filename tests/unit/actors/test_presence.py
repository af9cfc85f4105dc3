"""A host is found and answers on real in-memory layers, also on ones that fail for a while."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.layers import channel_layers

from streaming import layer as layers
from streaming.actors import presence
from streaming.actors.presence import Presence
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.layer import HOSTS_GROUP

PATIENCE_SECONDS = 40
FACTS = {"host": "one", "actors": 0}


class Failing(MemoryChannelLayer):
    """Each of its parts fails as often as it is told."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.left = dict.fromkeys(("new_channel", "group_add", "receive"), failures)

    def _fail(self, what: str) -> None:
        if self.left[what]:
            self.left[what] -= 1
            raise ConnectionError("away")

    async def new_channel(self, prefix: str = "specific.") -> str:
        self._fail("new_channel")
        return str(await super().new_channel(prefix))

    async def group_add(self, group: str, channel: str) -> None:
        self._fail("group_add")
        await super().group_add(group, channel)

    async def receive(self, channel: str) -> dict[str, Any]:
        self._fail("receive")
        return await super().receive(channel)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "RETRY_SECONDS", 0)
    monkeypatch.setattr(layers, "RETRY_SECONDS", 0)


@asynccontextmanager
async def present(
    layer: MemoryChannelLayer, describe: Callable[[], dict[str, Any]]
) -> AsyncIterator[MemoryChannelLayer]:
    """The layer that answers come on, while a host is there."""
    kept, replies = dict(channel_layers.backends), MemoryChannelLayer()
    channel_layers.backends.update({"default": replies, "broadcast": layer})
    task = asyncio.create_task(Presence(describe).keep())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await joined(layer)
            yield replies
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        channel_layers.backends = kept


async def joined(layer: MemoryChannelLayer) -> None:
    while not layer.member_count(HOSTS_GROUP):
        await asyncio.sleep(0.005)


async def asked(layer: MemoryChannelLayer, replies: MemoryChannelLayer, request_id: str) -> Any:
    question = {"type": "host.report", "reply_to": "replies!r", "request_id": request_id}
    await layer.group_send(HOSTS_GROUP, question)
    message = await replies.receive("replies!r")
    assert (message["type"], message["request_id"]) == ("live.reply", request_id)
    return json.loads(message["text"])


async def test_a_host_answers_what_is_so_when_it_is_asked_and_leaves_when_it_ends() -> None:
    layer, facts = MemoryChannelLayer(), dict(FACTS)
    async with present(layer, lambda: facts) as replies:
        assert await asked(layer, replies, "1") == FACTS
        facts["actors"] = 7
        assert await asked(layer, replies, "2") == {"host": "one", "actors": 7}
    assert layer.member_count(HOSTS_GROUP) == 0


async def test_a_layer_that_fails_for_a_while_is_waited_for(quick: None) -> None:
    layer = Failing(3)
    async with present(layer, lambda: FACTS) as replies:
        assert await asked(layer, replies, "1") == FACTS
    assert set(layer.left.values()) == {0}


async def test_a_layer_that_forgot_its_members_is_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "REJOIN_SECONDS", 0.01)
    layer = MemoryChannelLayer()
    async with present(layer, lambda: FACTS) as replies:
        layer.groups.clear()
        await joined(layer)
        assert await asked(layer, replies, "1") == FACTS


async def test_a_question_that_cannot_be_answered_does_not_end_the_answering() -> None:
    layer = MemoryChannelLayer()
    faults = [RuntimeError("not now")]

    def describe() -> dict[str, Any]:
        if faults:
            raise faults.pop()
        return FACTS

    async with present(layer, describe) as replies:
        question = {"type": "host.report", "reply_to": "replies!r", "request_id": "0"}
        for odd in (question, {}, {**question, "reply_to": "no channel"}):
            await layer.group_send(HOSTS_GROUP, {"type": "host.report", **odd})
        assert await asked(layer, replies, "1") == FACTS
    assert not faults
