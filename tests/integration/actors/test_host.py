"""The host's loops against real rows: what they survive, and what they then still do."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from channels.layers import get_channel_layer
from django.contrib.auth.models import User
from django.db import InterfaceError

from sessions_app.models import Session
from sessions_app.store import claims, executor
from sessions_app.store.fence import Fence
from streaming.actors.host import ActorHost
from streaming.actors.session import Departure, SessionActor
from streaming.layer import HOSTS_CHANNEL
from streaming.limits import ActorLimits
from tests.support.store import accepted

LIMITS = ActorLimits(sweep_seconds=0.02, renew_seconds=3_600)
PATIENCE_SECONDS = 30


class Idler:
    """An actor as its host sees one: it lives until it is cancelled."""

    def __init__(self, claim: claims.Claim) -> None:
        self.fence = claim.fence
        self.session_id = claim.session.id
        self.claimed_at = time.monotonic()
        self.crash = asyncio.Event()

    async def live(self) -> Departure:
        await self.crash.wait()
        return Departure.CRASHED

    async def nudge(self) -> None:
        """Nothing to look at."""

    async def drain(self) -> None:
        await asyncio.Event().wait()


class Stage:
    """Makes actors; of the first `faults` claims none."""

    def __init__(self, faults: int = 0) -> None:
        self.faults = faults
        self.actors: list[Idler] = []
        self.made = asyncio.Event()

    def __call__(self, claim: claims.Claim, channel: str) -> SessionActor:
        if self.faults:
            self.faults -= 1
            raise RuntimeError("no actor today")
        self.actors.append(Idler(claim))
        self.made.set()
        return cast(SessionActor, self.actors[-1])


@asynccontextmanager
async def running(stage: Stage, limits: ActorLimits = LIMITS) -> AsyncIterator[ActorHost]:
    host = ActorHost(stage, limits, "one")
    host.start()
    try:
        yield host
    finally:
        await host.close()


async def made(stage: Stage) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stage.made.wait()


async def test_the_sweep_goes_on_after_a_failure_that_no_database_error_tells_of(
    session: Session, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failures = claims.orphans, [InterfaceError("connection already closed"), RuntimeError("odd")]

    def orphans(limit: int) -> list[Any]:
        if failures:
            raise failures.pop()
        return list(read(limit))

    monkeypatch.setattr(claims, "orphans", orphans)
    await executor.write(accepted, session, alice)
    stage = Stage()
    async with running(stage):
        await made(stage)
    assert not failures


async def test_a_message_that_makes_no_sense_does_not_end_the_listening(session: Session) -> None:
    layer: Any = get_channel_layer()
    stage = Stage()
    async with running(stage, ActorLimits(sweep_seconds=3_600, renew_seconds=3_600)):
        for named in ({"session_id": "none"}, {}, {"session_id": str(session.id)}):
            await layer.send(HOSTS_CHANNEL, {"type": "host.claim", **named})
        await made(stage)


async def test_an_actor_that_cannot_be_made_does_not_end_the_sweep(session: Session, alice: User) -> None:
    await executor.write(accepted, session, alice)
    stage = Stage(faults=1)
    async with running(stage):
        await made(stage)


async def test_a_lease_that_could_not_be_given_back_is_given_back_later(
    session: Session, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandon, failures = claims.abandon, [InterfaceError("connection already closed"), RuntimeError("odd")]

    def failing(fence: Fence) -> None:
        if failures:
            raise failures.pop()
        abandon(fence)

    monkeypatch.setattr(claims, "abandon", failing)
    await executor.write(accepted, session, alice)
    stage = Stage()
    async with running(stage, dataclasses.replace(LIMITS, lease_seconds=3_600)):
        await made(stage)
        stage.made.clear()
        stage.actors[0].crash.set()
        await made(stage)
    assert not failures


async def test_a_session_claimed_while_the_host_drains_is_left_to_the_next_one(
    session: Session, alice: User
) -> None:
    await executor.write(accepted, session, alice)
    stage, turn = Stage(), threading.Event()
    async with running(
        stage, ActorLimits(sweep_seconds=3_600, renew_seconds=3_600, drain_seconds=0.01)
    ) as host:
        before_us = asyncio.ensure_future(executor.write(turn.wait))
        claiming = asyncio.ensure_future(host.ensure(session.id))
        await asyncio.sleep(0)
        await host.drain()
        turn.set()
        await asyncio.gather(before_us, claiming)
    assert not stage.made.is_set()
    assert await executor.read(claims.orphans, 1) == [session.id]


async def test_a_drain_leaves_no_task_behind(session: Session, alice: User) -> None:
    await executor.write(accepted, session, alice)
    stage, before = Stage(), asyncio.all_tasks()
    async with running(
        stage, ActorLimits(sweep_seconds=0.02, renew_seconds=3_600, drain_seconds=0.01)
    ) as host:
        await made(stage)
        await host.drain()
        assert asyncio.all_tasks() == before
