"""The port to the live half, over real rows and real layers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from channels.layers import channel_layers

from sessions_app.live import Cursor
from streaming.delivery import port
from streaming.delivery.port import ASKS_PER_CAPTURE, ChannelLive
from tests.support.clock import LeapingClock
from tests.unit.delivery.facts import until

pytestmark = pytest.mark.django_db(transaction=True)

CAPTURE_SECONDS = 60.0


class Hosts:
    """What takes claims: starts an actor for each, as often as it is allowed to."""

    def __init__(self) -> None:
        self.claimed: list[UUID] = []
        self.actors: list[Any] = []
        self.may_start = asyncio.Event()
        self.may_start.set()
        self._fences: dict[UUID, Any] = {}

    async def run(self) -> None:
        while True:
            message = await channel_layers["default"].receive("actor-hosts")
            self.claimed.append(UUID(message["session_id"]))
            await self.may_start.wait()
            await self.start(UUID(message["session_id"]))

    async def start(self, session_id: UUID, *, mute: bool = False) -> Any:
        """An actor with a lease; a mute one has died without anybody knowing."""
        from sessions_app.store.claims import claim
        from sessions_app.store.executor import write
        from tests.unit.delivery.actor import FakeActor

        actor = FakeActor(channel_layers["default"], channel_layers["broadcast"], session_id)
        channel = await channel_layers["default"].new_channel("actor")
        taken = await write(claim, session_id, host="test", channel=channel, lease_seconds=600)
        if taken is None:
            return None
        actor.generation = taken.session.public_generation
        actor.state["cursor"]["generation"] = actor.generation
        actor.channel = channel
        self._fences[session_id] = taken.fence
        if not mute:
            await actor.start_on(channel)
            self.actors.append(actor)
        return actor

    async def release(self, session_id: UUID) -> None:
        from sessions_app.store.claims import release
        from sessions_app.store.executor import write

        await write(release, self._fences.pop(session_id), None)


@pytest.fixture(autouse=True)
def patience(settings: Any) -> None:
    """An answer that does come has all the time of a busy machine; who waits in vain leaps over it."""
    settings.ALBEDO = {**settings.ALBEDO, "delivery_capture_seconds": CAPTURE_SECONDS}


def is_asked(actor: Any) -> bool:
    """Whether a question waits for a mute actor."""
    return actor.channel in channel_layers["default"].channels


@pytest.fixture
async def hosts() -> AsyncIterator[Hosts]:
    from sessions_app.store import executor
    from streaming.delivery import process
    from streaming.delivery.memory_layer import MemoryChannelLayer

    kept = dict(channel_layers.backends)
    channel_layers.backends.update({alias: MemoryChannelLayer() for alias in ("default", "broadcast")})
    made = Hosts()
    task = asyncio.create_task(made.run())
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    for actor in made.actors:
        await actor.die()
    await process.close()
    channel_layers.backends = kept
    executor.close()


@pytest.fixture
def live() -> Any:
    return ChannelLive()


@pytest.fixture
def session_id(transactional_db: None) -> UUID:
    from django.contrib.auth.models import User
    from django.utils import timezone

    from sessions_app.models import Session

    owner, now = User.objects.create_user("alice"), timezone.now()
    return Session.objects.create(owner=owner, workspace="/", created_at=now, activity_at=now).id


async def test_a_session_without_an_actor_is_none_and_nothing_is_started(
    session_id: UUID, hosts: Hosts, live: Any
) -> None:
    assert await live.capture(session_id, None, start=False) is None
    assert await live.inspect(session_id) is None
    await live.interrupt(session_id, session_id)
    await live.stop(session_id, "restart")
    assert hosts.claimed == []


async def test_an_actor_is_started_and_its_answer_awaited(session_id: UUID, hosts: Hosts, live: Any) -> None:
    reply = await live.capture(session_id, None, start=True)
    assert (reply.verdict, reply.reason) == ("reset", "initial")
    assert reply.live["cursor"] == {"generation": reply.generation, "sequence": 0}
    again = await live.capture(session_id, Cursor(reply.generation, 0), start=False)
    assert (again.verdict, again.live, again.events) == ("up_to_date", None, [])
    assert len(hosts.claimed) == 1


async def test_where_nobody_starts_one_the_answer_is_none_in_time(
    session_id: UUID, hosts: Hosts, live: Any
) -> None:
    clock = LeapingClock()
    hosts.may_start.clear()
    asking = asyncio.create_task(live.capture(session_id, None, start=True))
    await until(lambda: hosts.claimed, "a host is asked")
    clock.leap(CAPTURE_SECONDS)
    assert await asking is None


async def test_an_actor_that_died_while_asked_is_passed_over_for_its_successor(
    session_id: UUID, hosts: Hosts, live: Any
) -> None:
    clock, dead = LeapingClock(), await hosts.start(session_id, mute=True)
    asking = asyncio.create_task(live.capture(session_id, None, start=True))
    await until(lambda: is_asked(dead), "it is asked")
    await hosts.release(session_id)
    successor = await hosts.start(session_id)
    clock.leap(CAPTURE_SECONDS / ASKS_PER_CAPTURE)
    reply = await asking
    assert reply.generation == successor.generation


async def test_a_dead_actor_with_a_lease_is_none_in_time(session_id: UUID, hosts: Hosts, live: Any) -> None:
    clock, dead = LeapingClock(), await hosts.start(session_id, mute=True)
    for asking in (live.capture(session_id, None, start=True), live.inspect(session_id)):
        channel_layers["default"].channels.clear()
        waiting = asyncio.create_task(asking)
        await until(lambda: is_asked(dead), "it is asked")
        clock.leap(CAPTURE_SECONDS)
        assert await waiting is None


async def test_a_wake_reaches_the_actor_or_else_a_host(session_id: UUID, hosts: Hosts, live: Any) -> None:
    await live.wake(session_id)
    await until(lambda: len(hosts.actors) == 1, "an actor is started")
    seen: list[str] = []
    actor = hosts.actors[0]
    original = actor._answer_to

    def noted(message: dict[str, Any]) -> Any:
        seen.append(message["type"])
        return original(message)

    actor._answer_to = noted
    await live.wake(session_id)
    await live.interrupt(session_id, session_id)
    await live.stop(session_id, "deleted")
    await until(lambda: seen == ["actor.wake", "actor.interrupt", "actor.stop"], "the actor is told")
    assert len(hosts.claimed) == 1


async def test_many_captures_at_once_start_one_actor(session_id: UUID, hosts: Hosts, live: Any) -> None:
    replies = await asyncio.gather(*(live.capture(session_id, None, start=True) for _ in range(10)))
    assert len({reply.generation for reply in replies}) == 1
    assert len(hosts.actors) == 1


async def test_a_change_is_announced_to_owner_and_staff(session_id: UUID, hosts: Hosts, live: Any) -> None:
    layer = channel_layers["broadcast"]
    for group in ("user.7", "staff", "user.8"):
        await layer.group_add(group, group)
    await live.announce(session_id, 7, "activity")
    for group in ("user.7", "staff"):
        message = await layer.receive(group)
        assert message["type"] == "session.summary"
        assert message["text"] == f'{{"events":[{{"type":"activity","session_id":"{session_id}"}}]}}'
    assert "user.8" not in layer.channels


@pytest.fixture
def refusing(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A layer that takes nothing, and to which channels it was tried."""
    tried: list[str] = []

    async def refuse(channel: str, message: dict[str, Any]) -> None:
        tried.append(channel)
        raise ConnectionError("away")

    monkeypatch.setattr(channel_layers["default"], "send", refuse)
    return tried


async def test_where_no_actor_has_to_be_a_layer_that_refuses_is_tried_once(
    session_id: UUID, hosts: Hosts, live: Any, refusing: list[str]
) -> None:
    await hosts.start(session_id)
    assert await live.capture(session_id, None, start=False) is None
    assert await live.inspect(session_id) is None
    assert len(refusing) == 2


async def test_a_layer_that_refuses_is_tried_again_at_a_measured_pace(
    session_id: UUID, hosts: Hosts, live: Any, refusing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port, "RETRY_SECONDS", CAPTURE_SECONDS / 4)
    clock = LeapingClock()
    await hosts.start(session_id)
    asking = asyncio.create_task(live.capture(session_id, None, start=True))
    for tries in (1, 2):
        await until(lambda: len(refusing) == tries, "the actor is asked")  # noqa: B023
        clock.leap(CAPTURE_SECONDS / 4)
    clock.leap(CAPTURE_SECONDS)
    assert await asking is None
    assert len(refusing) <= 3


async def test_what_tells_the_live_half_of_something_fails_nobody(
    session_id: UUID, hosts: Hosts, live: Any, refusing: list[str]
) -> None:
    await live.wake(session_id)
    await hosts.start(session_id)
    await live.wake(session_id)
    await live.interrupt(session_id, session_id)
    await live.stop(session_id, "restart")
    assert len(refusing) == 4
