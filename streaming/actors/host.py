"""The actor host: takes sessions that need an actor, keeps their leases, and lets go of them in order.

One in each process that runs actors; the embedded server's is the same. A lost wake-up costs one sweep.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer
from django.db import Error

from sessions_app.store import claims, executor
from sessions_app.store.fence import Fence, LeaseLost
from sessions_app.store.settled import settled
from streaming import meters
from streaming.actors.beat import Beat
from streaming.actors.lease import LeaseKeeper
from streaming.actors.presence import Presence
from streaming.actors.removals import keep_removing
from streaming.actors.session import Departure, SessionActor
from streaming.endings import ended
from streaming.layer import HOSTS_CHANNEL, Message, listen
from streaming.limits import ActorLimits

log = logging.getLogger("albedo.host")

_SWEEP_BATCH = 64

ActorFactory = Callable[[claims.Claim, str], SessionActor]
Facts = Callable[[], dict[str, Any]]


def host_name() -> str:
    """Unique for each start of each process: a lease of an earlier one is never mistaken for ours."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{secrets.token_hex(4)}"


class ActorHost:
    """Runs actors until `drain`. `make_actor(claim, channel)` is the runtime's, and so is `facts()`."""

    def __init__(self, make_actor: ActorFactory, limits: ActorLimits, name: str, facts: Facts = dict) -> None:
        self.name = name
        self._make_actor = make_actor
        self._limits = limits
        self._facts = facts
        self._layer = get_channel_layer()
        self._actors: dict[UUID, SessionActor] = {}
        self._claiming: set[UUID] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._lease = LeaseKeeper(name, limits, self._actors)
        self._beat = Beat(name, limits, alone=False)
        # Leases of ours that no actor holds: they could not be given back when it went.
        self._owed: list[Fence] = []
        self.draining = False

    def start(self, *, alone: bool = False) -> None:
        """`alone`: no other process has the database."""
        self._lease.alone = alone
        meters.ACTORS.set_function(lambda: len(self._actors))
        self._beat = Beat(self.name, self._limits, alone=alone)
        self._loops = [
            asyncio.create_task(listen(self._layer, HOSTS_CHANNEL, self._take), name="host-listen"),
            asyncio.create_task(self._sweep(), name="host-sweep"),
            asyncio.create_task(self._beat.keep(), name="host-beat"),
            asyncio.create_task(keep_removing(self._limits.sweep_seconds), name="host-removals"),
            asyncio.create_task(self._lease.keep(), name="host-lease"),
            asyncio.create_task(Presence(self.describe).keep(), name="host-presence"),
        ]

    @property
    def actor_count(self) -> int:
        return len(self._actors)

    def describe(self) -> dict[str, Any]:
        """What an operator is told of this host, ready for JSON."""
        return {
            "host": self.name,
            "actors": self.actor_count,
            "draining": self.draining,
            **self._facts(),
        }

    async def ensure(self, session_id: UUID) -> None:
        """Start the session's actor here if nobody holds it; wake it if it is ours already."""
        actor = self._actors.get(session_id)
        if actor is not None:
            await actor.nudge()
            return
        if self.draining or session_id in self._claiming:
            return
        self._claiming.add(session_id)
        try:
            await self._claim(session_id)
        finally:
            self._claiming.discard(session_id)

    async def _claim(self, session_id: UUID) -> None:
        channel = await self._layer.new_channel("actor")
        claim = await settled(
            claims.claim,
            session_id,
            host=self.name,
            channel=channel,
            lease_seconds=self._lease.lease_seconds,
        )
        if claim is None:
            return
        if self.draining:
            # The drain has counted its actors: one that came now would start a run that nobody ends.
            await executor.write(claims.abandon, claim.fence)
            return
        try:
            actor = self._make_actor(claim, channel)
        except Exception:
            self._owed.append(claim.fence)
            raise
        self._actors[session_id] = actor
        # A context of its own: an actor must not live in the request that happened to wake it.
        task = asyncio.create_task(
            self._run(actor), context=contextvars.Context(), name=f"actor-{session_id}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, actor: SessionActor) -> None:
        departure = Departure.CRASHED
        try:
            departure = await actor.live()
        except Exception:
            log.exception("an actor failed: session %s", actor.session_id)
        finally:
            if self._actors.get(actor.session_id) is actor:
                del self._actors[actor.session_id]
        if departure is Departure.FENCED:
            meters.LEASE_LOSSES.inc()
        if departure in (Departure.CRASHED, Departure.DELETED) and not self.draining:
            await self._let_go(actor, again=departure is Departure.CRASHED)

    async def _let_go(self, actor: SessionActor, *, again: bool) -> None:
        """Its end is known here, so nobody has to wait for the lease: the next claim closes what it left.

        Of a session that was to be deleted nothing is left, unless somebody was faster with an input.
        """
        try:
            await executor.write(claims.abandon, actor.fence)
            # One that fails at once would fail for ever: then the sweep's pace is fast enough.
            if again and time.monotonic() - actor.claimed_at >= self._limits.sweep_seconds:
                await self.ensure(actor.session_id)
        except LeaseLost:
            pass
        except Exception as error:
            self._owed.append(actor.fence)
            _outlive(f"session {actor.session_id} is left to the sweep", error)

    async def _give_back(self) -> None:
        """What is owed, as far as the database takes it."""
        while self._owed:
            try:
                await executor.write(claims.abandon, self._owed[0])
            except LeaseLost:
                pass
            except Exception as error:
                _outlive("leases could not be given back", error)
                return
            self._owed.pop(0)

    async def _take(self, message: Message) -> None:
        if message.get("type") == "host.claim":
            await self._ensure_quietly(str(message.get("session_id")))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._limits.sweep_seconds)
            await self._give_back()
            for session_id in await self._waiting():
                await self._ensure_quietly(str(session_id))

    async def _waiting(self) -> list[UUID]:
        try:
            orphans = await executor.read(claims.orphans, _SWEEP_BATCH)
            return orphans + await executor.read(claims.waiting_at, self.name, _SWEEP_BATCH)
        except Exception as error:
            _outlive("the sweep could not read", error)
            return []

    async def _ensure_quietly(self, session_id: str) -> None:
        try:
            await self.ensure(UUID(session_id))
        except Exception as error:
            _outlive(f"session {session_id} could not be claimed", error)

    async def drain(self) -> None:
        """Take nothing new; let every actor end its step, then interrupt it, release its lease."""
        self.draining = True
        for loop in self._loops[:4]:
            loop.cancel()
        self._loops.append(asyncio.create_task(self._beat.end(), name="host-leave"))
        # It must have begun: from then on its write is made, whoever waits for it or not.
        await asyncio.sleep(0)
        drained = [asyncio.create_task(actor.drain()) for actor in list(self._actors.values())]
        if drained:
            await asyncio.wait(drained, timeout=2 * self._limits.drain_seconds)
            await ended(drained)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._limits.drain_seconds)
        await self.close()

    async def close(self) -> None:
        """End at once: what is left is closed by the next claim."""
        self.draining = True
        await ended([*self._loops, *self._tasks])


def _outlive(what: str, error: Exception) -> None:
    """Nothing ends a host's loops: without them every lost wake-up would stay lost."""
    log.warning("%s: %s", what, type(error).__name__, exc_info=not isinstance(error, Error))
