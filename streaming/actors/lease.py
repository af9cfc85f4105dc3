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

from django.db import DatabaseError

from sessions_app.store import claims, executor
from sessions_app.store.fence import Fence
from streaming.limits import ActorLimits

log = logging.getLogger("albedo.lease")


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

    async def keep(self) -> None:
        while True:
            await asyncio.sleep(self._limits.renew_seconds)
            await self.renew()

    async def renew(self) -> None:
        """One round: renew what lives here, fence off what is lost, pass on stops whose message was lost.

        Only cancelling it ends it by an exception: without its keeper a host would lose every session.
        """
        held = dict(self._actors)
        if not held:
            self._renewed_at.clear()
            return
        self._fence_stale(held, time.monotonic())
        try:
            # Bounded: a database that never answers must not keep an actor going past its lease.
            async with asyncio.timeout(self._limits.renew_seconds):
                renewal = await executor.write(
                    claims.renew, self._host, list(held), self._limits.lease_seconds
                )
        except Exception as error:
            expected = isinstance(error, (DatabaseError, TimeoutError))
            log.warning("leases were not renewed: %s", type(error).__name__, exc_info=not expected)
            self._fence_stale(held, time.monotonic())
            return
        self._renewed_at = dict.fromkeys(renewal.generations, renewal.since)
        for session_id, actor in held.items():
            if renewal.generations.get(session_id) != actor.fence.generation:
                actor.fence_off()
            elif session_id in renewal.interrupts:
                actor.interrupt(renewal.interrupts[session_id])

    def _fence_stale(self, held: Mapping[UUID, Holder], now: float) -> None:
        """The lease may be over before the next answer comes: act as if it were."""
        if self.alone:
            return
        for session_id, actor in held.items():
            renewed_at = max(self._renewed_at.get(session_id, 0.0), actor.claimed_at)
            if now - renewed_at > self._limits.self_fence_seconds:
                log.warning("session %s: no renewal in time, its actor stops", session_id)
                actor.fence_off()
