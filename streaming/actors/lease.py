"""Keep the leases of a host's actors, on the loop that runs them: a blocked loop must not look alive.

An actor whose lease is lost, or could not be renewed for the self-fence time, is told to stop. Where no other
process has the database nobody can take a lease, and one that could not be renewed is ours all the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from django.db import Error

from sessions_app.store import claims, executor
from sessions_app.store.fence import Fence
from streaming.limits import ActorLimits

log = logging.getLogger("albedo.lease")

# After a round that failed the next one must not come as late as usual: half the time is gone.
RETRY_SECONDS = 1.0
# Where nobody else can take a lease it is to outlast a database that cannot be written for a while: readers
# find the actor by it.
ALONE_SECONDS = 120.0
# Between two looks at the ages of leases, at most; at least, so that a late one is no busy loop.
LONGEST_LOOK_SECONDS, SHORTEST_LOOK_SECONDS = 1.0, 0.02


class Holder(Protocol):
    """What the keeper may do to an actor."""

    fence: Fence
    claimed_at: float

    def fence_off(self) -> None:
        """Its lease is gone: stop, write nothing, publish nothing."""

    def interrupt(self, run_id: UUID) -> None:
        """A stop is on record."""


class LeaseKeeper:
    """Renews every lease each `renew_seconds` at once. `alone`: no other process has the database."""

    def __init__(self, host: str, limits: ActorLimits, actors: Mapping[UUID, Holder]) -> None:
        self._host = host
        self._limits = limits
        self._actors = actors
        self._renewed_at: dict[UUID, float] = {}
        self.alone = False

    @property
    def lease_seconds(self) -> float:
        """How long a lease lasts from its claim or renewal on."""
        usual = self._limits.lease_seconds
        return max(usual, ALONE_SECONDS) if self.alone else usual

    async def keep(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._renew_for_ever())
            tasks.create_task(self._mind_ages())

    async def renew(self) -> bool:
        """One round: renew what lives here, fence off what is lost, pass on stops whose message was lost.

        Whether the database answered. Only cancelling it ends it by an exception: without its keeper a host
        would lose every session.
        """
        held = dict(self._actors)
        if not held:
            self._renewed_at.clear()
            return True
        self._fence_stale(held)
        # As of before: an actor goes on while its lease is renewed.
        heads = {session_id: actor.fence.head_position for session_id, actor in held.items()}
        try:
            # Bounded: a database that never answers must not keep an actor going past its lease.
            async with asyncio.timeout(self._limits.renew_seconds):
                renewal = await executor.keep(claims.renew, self._host, list(held), self.lease_seconds)
        except Exception as error:
            expected = isinstance(error, (Error, TimeoutError))
            log.warning("leases were not renewed: %s", type(error).__name__, exc_info=not expected)
            self._fence_stale(held)
            return False
        self._renewed_at = dict.fromkeys(renewal.generations, renewal.since)
        for session_id, actor in held.items():
            if renewal.generations.get(session_id) != actor.fence.generation:
                log.warning("session %s: its lease is lost, its actor stops", session_id)
                actor.fence_off()
            elif renewal.heads[session_id] < heads[session_id]:
                log.warning("session %s: the database has lost entries, its actor stops", session_id)
                actor.fence_off()
            elif session_id in renewal.interrupts:
                actor.interrupt(renewal.interrupts[session_id])
        return True

    async def _renew_for_ever(self) -> None:
        answered = True
        while True:
            usual = self._limits.renew_seconds
            await asyncio.sleep(usual if answered else min(RETRY_SECONDS, usual))
            answered = await self.renew()

    async def _mind_ages(self) -> None:
        """To the second, whatever the rounds are waiting for."""
        while True:
            ages = [self._age(session_id, actor) for session_id, actor in self._actors.items()]
            left = self._limits.self_fence_seconds - max(ages, default=0.0)
            await asyncio.sleep(min(max(left, SHORTEST_LOOK_SECONDS), LONGEST_LOOK_SECONDS))
            self._fence_stale(dict(self._actors))

    def _age(self, session_id: UUID, actor: Holder) -> float:
        return time.monotonic() - max(self._renewed_at.get(session_id, 0.0), actor.claimed_at)

    def _fence_stale(self, held: Mapping[UUID, Holder]) -> None:
        """The lease may be over before the next answer comes: act as if it were."""
        if self.alone:
            return
        for session_id, actor in held.items():
            stale = self._age(session_id, actor) >= self._limits.self_fence_seconds
            if stale and not actor.fence.given_up:
                log.warning("session %s: no renewal in time, its actor stops", session_id)
                actor.fence_off()
