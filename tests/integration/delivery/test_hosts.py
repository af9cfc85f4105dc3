"""What the hosts say of themselves, asked through the port: real hosts, real layers in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from channels.layers import channel_layers
from django.contrib.auth.models import User

from sessions_app.models import Session
from sessions_app.store import executor
from sessions_app.store.claims import Claim
from streaming.actors.host import ActorHost
from streaming.actors.session import Departure, SessionActor
from streaming.delivery import port, process
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.delivery.port import ChannelLive
from streaming.layer import HOSTS_GROUP
from streaming.limits import ActorLimits
from tests.support.clock import LeapingClock
from tests.support.provider_attempts import provider_client
from tests.support.rows import alice, session
from tests.unit.delivery.facts import until

__all__ = ["alice", "session"]

QUIET = ActorLimits(sweep_seconds=3_600, renew_seconds=3_600, drain_seconds=3_600)
# So long that no test waits for it.
HOSTS_SECONDS = 3_600
KEY = ("http://127.0.0.1:9/v1", "m")
ENDPOINT = {"base_url": KEY[0], "model": KEY[1]}


class Actor:
    """An actor as its host sees one; it lets go when it is told."""

    def __init__(self, claim: Claim) -> None:
        self.fence = claim.fence
        self.session_id = claim.session.id
        self.claimed_at = time.monotonic()
        self.may_go = asyncio.Event()

    async def live(self) -> Departure:
        await self.may_go.wait()
        return Departure.LEFT

    async def drain(self) -> None:
        await self.may_go.wait()


class Unknowing(MemoryChannelLayer):
    """What lies between several processes: it cannot tell how many listen."""

    def member_count(self, group: str) -> int:
        return port.HOSTS_MOST


class Counting(MemoryChannelLayer):
    """Knows how many answers were taken from it."""

    answers = 0

    async def receive(self, channel: str) -> dict[str, Any]:
        message = await super().receive(channel)
        self.answers += message["type"] == "live.reply"
        return message


class Silent(MemoryChannelLayer):
    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        raise ConnectionError("away")


@pytest.fixture
async def groups(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryChannelLayer]:
    monkeypatch.setattr(port, "HOSTS_SECONDS", HOSTS_SECONDS)
    kept = dict(channel_layers.backends)
    layer = MemoryChannelLayer()
    channel_layers.backends.update({"default": MemoryChannelLayer(), "broadcast": layer})
    yield layer
    await process.close()
    channel_layers.backends = kept
    executor.close()


@asynccontextmanager
async def hosting(name: str, actors: list[Actor] | None = None, **facts: Any) -> AsyncIterator[ActorHost]:
    """A host in the group."""

    def make(claim: Claim, channel: str) -> SessionActor:
        actor = Actor(claim)
        (actors if actors is not None else []).append(actor)
        return cast(SessionActor, actor)

    host = ActorHost(make, QUIET, name, lambda: facts)
    layer: Any = channel_layers["broadcast"]
    before = len(layer.groups.get(HOSTS_GROUP, ()))
    host.start()
    try:
        await until(lambda: len(layer.groups.get(HOSTS_GROUP, ())) > before, "the host joins")
        yield host
    finally:
        await host.close()


async def test_every_host_that_the_layer_knows_is_heard_without_waiting_for_more(
    groups: MemoryChannelLayer,
) -> None:
    async with hosting("two"), hosting("one"):
        async with asyncio.timeout(30):
            found = await ChannelLive().hosts()
    assert found == [{"host": name, "actors": 0, "draining": False} for name in ("one", "two")]


async def test_where_no_host_is_nobody_is_waited_for(groups: MemoryChannelLayer) -> None:
    async with asyncio.timeout(30):
        assert await ChannelLive().hosts() == []


async def test_a_layer_that_cannot_count_gets_the_whole_time_and_no_more(
    groups: MemoryChannelLayer,
) -> None:
    clock, replies = LeapingClock(), Counting()
    channel_layers.backends.update({"default": replies, "broadcast": Unknowing()})
    async with hosting("one"):
        asking = asyncio.create_task(ChannelLive().hosts())
        await until(lambda: replies.answers, "the host has answered")
        assert not asking.done()
        clock.leap(HOSTS_SECONDS)
        assert [host["host"] for host in await asking] == ["one"]


async def test_a_layer_that_is_away_has_no_hosts(groups: MemoryChannelLayer) -> None:
    channel_layers.backends["broadcast"] = Silent()
    async with hosting("one"):
        assert await ChannelLive().hosts() == []


async def test_a_host_that_drains_still_says_so_and_what_is_left(
    groups: MemoryChannelLayer, session: Session, alice: User
) -> None:
    actors: list[Actor] = []
    async with hosting("one", actors) as host:
        await host.ensure(session.id)
        draining = asyncio.create_task(host.drain())
        await until(lambda: host.draining, "the drain begins")
        assert await ChannelLive().hosts() == [{"host": "one", "actors": 1, "draining": True}]
        actors[0].may_go.set()
        await draining
    assert await ChannelLive().hosts() == []


async def test_an_open_breaker_is_seen_with_its_endpoint(groups: MemoryChannelLayer) -> None:
    async with provider_client(clock=lambda: 105.0) as client:
        for _ in range(client._shared.limits.breaker_failures):
            client._shared.breaker.record(KEY, failed=True, now=100.0)
        async with hosting("one", **client.report()):
            (found,) = await ChannelLive().hosts()
    breaker = {**ENDPOINT, "state": "open", "failures": 10, "wait_seconds": 25.0}
    assert (found["breakers"], found["streamless"]) == ([breaker], [])
