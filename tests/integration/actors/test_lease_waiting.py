"""Renewals that had to wait: for the writer's thread, for the database's lock."""

from __future__ import annotations

import asyncio
import threading
import time
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.store import executor
from sessions_app.store.claims import Claim
from sessions_app.store.fence import Fence
from streaming.actors.lease import LeaseKeeper
from streaming.limits import ActorLimits

from tests.integration.store.conftest import claimed

FENCE_SECONDS = 2.0


class Held:
    """An actor as the keeper sees one."""

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self.claimed_at = time.monotonic()
        self.fenced = False

    def fence_off(self) -> None:
        self.fenced = True

    def interrupt(self, run_id: UUID) -> None:
        raise AssertionError(f"nobody stopped {run_id}")


def new_claim() -> Claim:
    owner, now = User.objects.create_user("alice"), timezone.now()
    return claimed(Session.objects.create(owner=owner, workspace="/w", created_at=now, activity_at=now))


async def test_a_renewal_that_waited_for_its_turn_counts_from_when_it_was_made(
    transactional_db: None,
) -> None:
    claim = await executor.write(new_claim)
    held = Held(claim.fence)
    keeper = LeaseKeeper("one", ActorLimits(self_fence_seconds=FENCE_SECONDS), {claim.session.id: held})
    turn = threading.Event()
    before_us = asyncio.ensure_future(executor.write(turn.wait))
    renewing = asyncio.ensure_future(keeper.renew())
    asked_at = time.monotonic()
    while time.monotonic() - asked_at <= FENCE_SECONDS:
        await asyncio.sleep(0.05)
    turn.set()
    await before_us
    await renewing
    await keeper.renew()
    assert not held.fenced
