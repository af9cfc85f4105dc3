"""An actor as a whole over real rows: what does not end it, and that it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from channels.layers import get_channel_layer
from django.contrib.auth.models import User

from sessions_app.models import Run, Session
from sessions_app.store import claims, executor
from streaming.actors import session as actors
from streaming.actors.services import Services
from streaming.actors.session import Departure, SessionActor
from streaming.limits import ActorLimits, Limits
from streaming.providers.client import ProviderClient
from streaming.tools.base import SessionKernel
from streaming.tools.mcp.servers import McpServers
from streaming.tools.registry import ToolRegistry
from tests.support.store import accepted, claimed

PATIENCE_SECONDS = 30
CHANNEL = "actor.one"


class Held:
    """Of a kernel or of MCP servers: what the system will not let go of."""

    alive = False

    def __init__(self, free: asyncio.Event) -> None:
        self._free = free

    async def close(self) -> None:
        await self._free.wait()


async def no_profile(name: str, model: str) -> Any:
    raise LookupError("There is no provider profile.")


def services(limits: ActorLimits, free: asyncio.Event) -> Services:
    kernel = cast(Callable[[Path], SessionKernel], lambda workspace: Held(free))
    servers = cast(Callable[[Path], McpServers], lambda workspace: Held(free))
    whole = Limits(actor=limits)
    client = ProviderClient(limits=whole.wire)
    return Services(whole, client, ToolRegistry([]), kernel, no_profile, servers, no_profile, "one")  # type: ignore[arg-type]


def free() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def actor_of(session: Session, limits: ActorLimits, held: asyncio.Event) -> SessionActor:
    return SessionActor(await executor.write(claimed, session), CHANNEL, services(limits, held))


async def departure(living: asyncio.Task[Departure]) -> Departure:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await living


async def test_a_kernel_that_does_not_end_keeps_no_actor(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actors, "CLOSE_SECONDS", 0.05)
    actor = await actor_of(session, ActorLimits(), asyncio.Event())
    living = asyncio.create_task(actor.live())
    actor.fence_off()
    assert await departure(living) is Departure.FENCED


async def test_a_message_that_cannot_be_handled_ends_no_actor(session: Session) -> None:
    actor = await actor_of(session, ActorLimits(), free())
    layer: Any = get_channel_layer()
    living = asyncio.create_task(actor.live())
    await layer.send(CHANNEL, {"type": "actor.interrupt", "run_id": "none"})
    await layer.send(CHANNEL, {"type": "actor.watch"})
    await layer.send(CHANNEL, {"type": "actor.stop", "reason": "deleted"})
    assert await departure(living) is Departure.DELETED


async def test_an_idle_actor_leaves_and_its_lease_is_free(session: Session) -> None:
    actor = await actor_of(session, ActorLimits(idle_seconds=0.05), free())
    assert await departure(asyncio.create_task(actor.live())) is Departure.LEFT
    row = await executor.read(Session.objects.get, id=session.id)
    assert (row.lease_until, row.last_sequence) == (None, actor.publisher.window.newest)


async def test_work_that_no_message_told_of_is_done_before_leaving(
    session: Session, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = claims.release_idle
    uids: list[UUID] = []

    def late(*args: Any) -> bool:
        """An input comes in the moment that the actor made up its mind to leave."""
        if not uids:
            uids.append(accepted(session, alice))
        return release(*args)

    monkeypatch.setattr(claims, "release_idle", late)
    actor = await actor_of(session, ActorLimits(idle_seconds=0.05), free())
    assert await departure(asyncio.create_task(actor.live())) is Departure.LEFT
    run = await executor.read(Run.objects.get)
    assert (run.state, run.error["code"]) == ("failed", "provider_unknown")
    assert [item.uid for item in await executor.read(lambda: list(run.inputs.all()))] == uids
