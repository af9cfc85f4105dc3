"""The layers over a real Redis whose lines break, each in its way."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from streaming.delivery.redis_layer import RedisCommandLayer, RedisGroupLayer
from streaming.layer import listen
from tests.support.services import RedisNumbers, RedisServer

PATIENCE_SECONDS = 40


class Member:
    """A channel in a group, and what came to it."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.heard: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    async def join(self, group: str) -> Member:
        channel = await self.layer.new_channel("member")
        await self.layer.group_add(group, channel)
        self._task = asyncio.create_task(listen(self.layer, channel, self._take))
        return self

    async def _take(self, message: dict[str, Any]) -> None:
        self.heard.add(message["number"])

    async def leave(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def heard_again(member: Member, group: str, first: int) -> None:
    """Messages from number `first` on are sent until one arrives."""
    number = first
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(heard >= first for heard in member.heard):
            try:
                await member.layer.group_send(group, {"type": "note", "number": number})
            except Exception:
                assert number < first + 10_000
            number += 1
            await asyncio.sleep(0.05)


@pytest.fixture
async def layer(redis_url: str) -> AsyncIterator[RedisGroupLayer]:
    made = RedisGroupLayer([{"address": redis_url, "socket_timeout": 20}])
    yield made
    await made.flush()


@pytest.fixture
async def member(layer: RedisGroupLayer) -> AsyncIterator[Member]:
    made = await Member(layer).join("group")
    await heard_again(made, "group", 0)
    yield made
    await made.leave()


def subscriber(layer: RedisGroupLayer) -> Any:
    return layer._get_layer()._shards[0]._pubsub.connection


async def test_a_line_that_the_system_gave_up_is_replaced_and_the_loop_goes_on(
    layer: RedisGroupLayer, member: Member
) -> None:
    losses: list[int] = []
    layer.losses.add(lambda: losses.append(1))
    # What the kernel reports of a peer that vanished, as the transport passes it on.
    subscriber(layer)._reader.set_exception(TimeoutError(errno.ETIMEDOUT, "Connection timed out"))
    await heard_again(member, "group", 1_000)
    assert losses


async def test_a_subscriber_that_was_cut_off_hears_again_and_the_loss_is_told(
    layer: RedisGroupLayer, member: Member, redis_url: str
) -> None:
    losses: list[int] = []
    layer.losses.add(lambda: losses.append(1))
    async with Redis.from_url(redis_url) as client:
        cut = await client.client_kill_filter(_id=(await own_id(layer, client)))
    assert cut == 1
    await heard_again(member, "group", 1_000)
    assert losses == [1]


async def own_id(layer: RedisGroupLayer, client: Any) -> str:
    """The server's number of the layer's subscribing connection."""
    local = subscriber(layer)._writer.get_extra_info("sockname")
    (found,) = [row["id"] for row in await client.client_list() if row["addr"] == f"{local[0]}:{local[1]}"]
    return str(found)


async def test_a_redis_that_starts_anew_is_heard_without_joining_again(own_redis: RedisServer) -> None:
    layer = RedisGroupLayer([{"address": own_redis.url, "socket_timeout": 20}])
    member = await Member(layer).join("group")
    await heard_again(member, "group", 0)
    await asyncio.to_thread(own_redis.stop)
    with pytest.raises(ConnectionError):
        await refused(layer)
    await asyncio.to_thread(own_redis.start)
    await heard_again(member, "group", 1_000)
    await member.leave()
    await layer.flush()


async def refused(layer: RedisGroupLayer) -> None:
    try:
        await layer.group_send("group", {"type": "note", "number": 1})
    except Exception as error:
        raise ConnectionError from error


async def test_a_channel_that_cannot_be_opened_leaves_nothing_behind(own_redis: RedisServer) -> None:
    layer = RedisGroupLayer([{"address": own_redis.url, "socket_timeout": 20}])
    await asyncio.to_thread(own_redis.stop)
    for _ in range(3):
        with pytest.raises(Exception, match="connecting"):
            await layer.new_channel("hub")
    assert layer._get_layer().channels == {}
    await asyncio.to_thread(own_redis.start)
    assert await layer.new_channel("hub") in layer._get_layer().channels
    await layer.flush()


async def test_what_is_tidied_up_behind_a_message_fails_in_silence(own_redis: RedisServer) -> None:
    layer = RedisCommandLayer([{"address": own_redis.url, "socket_timeout": 20}])
    await layer.send("actor", {"type": "note"})
    assert await layer.receive("actor") == {"type": "note"}
    await layer.close_pools()
    await asyncio.to_thread(own_redis.stop)
    with pytest.raises(RedisError):
        await layer.send("actor", {"type": "note"})
    await layer._clean_receive_backup(0, "actor")
    await layer.close_pools()


async def test_two_numbers_of_a_redis_do_not_hear_each_other(redis_url: str) -> None:
    numbers = RedisNumbers(redis_url)
    with numbers.lent() as one, numbers.lent() as two:
        ours, theirs = RedisGroupLayer([{"address": one}]), RedisGroupLayer([{"address": two}])
        member, other = await Member(ours).join("group"), await Member(theirs).join("group")
        for number in range(3):
            await theirs.group_send("group", {"type": "note", "number": number})
        await heard_again(member, "group", 1_000)
        await heard_again(other, "group", 2_000)
        assert min(member.heard) >= 1_000
        assert not member.heard & other.heard
        for layer, left in ((ours, member), (theirs, other)):
            await left.leave()
            await layer.flush()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("redis://h:1/0", "HonestConnection"),
        ("rediss://h:1/0", "HonestSSLConnection"),
        ("unix:///s", "HonestUnixDomainSocketConnection"),
    ],
)
def test_every_kind_of_line_is_made_honest(address: str, kind: str) -> None:
    layer = RedisGroupLayer([{"address": address}])
    (host,) = layer._kwargs["hosts"]
    assert host["connection_class"].__name__ == kind
