"""The keeper of leases against the real database."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import InterfaceError
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.store import claims, executor, inputs, runs
from sessions_app.store.fence import Fence
from streaming.actors.lease import LeaseKeeper
from streaming.limits import ActorLimits
from tests.support.store import accepted, claimed

# The database of a busy machine has its time to answer.
PATIENT = ActorLimits(renew_seconds=60)


class Held:
    """An actor as the keeper sees one."""

    def __init__(self, fence: Fence, claimed_at: float | None = None) -> None:
        self.fence = fence
        self.claimed_at = time.monotonic() if claimed_at is None else claimed_at
        self.fenced = False
        self.stops: list[UUID] = []

    def fence_off(self) -> None:
        self.fenced = True

    def interrupt(self, run_id: UUID) -> None:
        self.stops.append(run_id)


async def test_a_round_extends_what_is_held(session: Session) -> None:
    claim = await executor.write(claimed, session)
    held = Held(claim.fence)
    await LeaseKeeper("one", dataclasses.replace(PATIENT, lease_seconds=500), {session.id: held}).renew()
    fresh = await executor.read(Session.objects.get, id=session.id)
    assert fresh.lease_until is not None
    assert fresh.lease_until > timezone.now() + timedelta(seconds=200)
    assert not held.fenced


async def test_who_is_alone_is_found_by_its_lease_while_the_database_cannot_be_written(
    session: Session,
) -> None:
    claim = await executor.write(claimed, session)
    keeper = LeaseKeeper("one", ActorLimits(lease_seconds=15), {session.id: Held(claim.fence)})
    keeper.alone = True
    await keeper.renew()
    fresh = await executor.read(Session.objects.get, id=session.id)
    assert fresh.lease_until is not None
    assert fresh.lease_until > timezone.now() + timedelta(seconds=60)


async def test_an_actor_whose_session_another_host_has_is_fenced_off_and_the_log_says_so(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    claim = await executor.write(claimed, session)
    await executor.write(claims.abandon, claim.fence)
    await executor.write(claimed, session, "two")
    held = Held(claim.fence)
    await LeaseKeeper("one", PATIENT, {session.id: held}).renew()
    assert held.fenced
    assert [record.getMessage() for record in caplog.records] == [
        f"session {session.id}: its lease is lost, its actor stops"
    ]


async def test_an_actor_that_was_not_renewed_in_time_is_fenced_off_before_anything_else(
    transactional_db: None,
) -> None:
    held = Held(Fence(uuid4(), 1), claimed_at=time.monotonic() - 11)
    await LeaseKeeper("one", PATIENT, {held.fence.session_id: held}).renew()
    assert held.fenced


async def test_a_stop_whose_message_was_lost_arrives_with_the_renewal(session: Session, alice: User) -> None:
    claim = await executor.write(claimed, session)
    await executor.write(accepted, session, alice)
    taken = await executor.write(runs.start_run, claim.fence)
    assert taken is not None
    await executor.write(inputs.interrupt_run, session.id, alice, taken.run.id, 0)
    held = Held(claim.fence)
    await LeaseKeeper("one", PATIENT, {session.id: held}).renew()
    assert held.stops == [taken.run.id]


async def test_a_renewal_that_waited_for_its_turn_began_when_it_was_made(session: Session) -> None:
    await executor.write(claimed, session)
    turn = threading.Event()
    before_us = asyncio.ensure_future(executor.write(turn.wait))
    renewing = asyncio.ensure_future(executor.write(claims.renew, "one", [session.id], 60))
    await asyncio.sleep(0)
    released_at = time.monotonic()
    turn.set()
    renewal, _ = await asyncio.gather(renewing, before_us)
    assert renewal.since >= released_at


@pytest.mark.parametrize(("age_seconds", "fenced"), [(0, False), (1_100, True)])
async def test_a_lease_counts_from_its_last_renewal(
    session: Session, monkeypatch: pytest.MonkeyPatch, age_seconds: float, fenced: bool
) -> None:
    claim = await executor.write(claimed, session)
    held = Held(claim.fence, claimed_at=time.monotonic() - 900)
    renew = claims.renew

    def earlier(*args: Any) -> claims.Renewal:
        made = renew(*args)
        return dataclasses.replace(made, since=made.since - age_seconds)

    monkeypatch.setattr(claims, "renew", earlier)
    limits = dataclasses.replace(PATIENT, self_fence_seconds=1_000)
    keeper = LeaseKeeper("one", limits, {session.id: held})
    await keeper.renew()
    held.claimed_at -= 1_000
    await keeper.renew()
    assert held.fenced == fenced


async def test_who_is_alone_with_the_database_is_not_fenced_off_for_want_of_a_renewal(
    session: Session,
) -> None:
    claim = await executor.write(claimed, session)
    held = Held(claim.fence, claimed_at=time.monotonic() - 11)
    keeper = LeaseKeeper("one", PATIENT, {session.id: held})
    keeper.alone = True
    await keeper.renew()
    assert not held.fenced


async def test_a_database_that_never_answers_is_no_reason_to_go_on(session: Session) -> None:
    claim = await executor.write(claimed, session)
    held = Held(claim.fence)
    limits = ActorLimits(renew_seconds=0.1, self_fence_seconds=0.05)
    keeper = LeaseKeeper("one", limits, {session.id: held})
    turn = threading.Event()
    before_us = asyncio.ensure_future(executor.write(turn.wait))
    renewing = asyncio.ensure_future(keeper.renew())
    try:
        async with asyncio.timeout(30):
            await renewing
        assert held.fenced
    finally:
        turn.set()
        await before_us


async def test_a_failure_that_no_database_error_tells_of_ends_no_round(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise InterfaceError("connection already closed")

    claim = await executor.write(claimed, session)
    held = Held(claim.fence, claimed_at=time.monotonic() - 11)
    monkeypatch.setattr(claims, "renew", broken)
    await LeaseKeeper("one", PATIENT, {session.id: held}).renew()
    assert held.fenced


async def test_an_actor_whose_database_has_lost_entries_is_fenced_off(session: Session, alice: User) -> None:
    claim = await executor.write(claimed, session)
    await executor.write(accepted, session, alice)
    await executor.write(runs.start_run, claim.fence)
    held = Held(claim.fence)
    keeper = LeaseKeeper("one", PATIENT, {session.id: held})
    assert await keeper.renew()
    assert not held.fenced
    # As a replica has it that lacks the end.
    await executor.write(lambda: Session.objects.update(head_position=0))
    await keeper.renew()
    assert held.fenced


async def test_an_actor_that_stores_while_its_lease_is_renewed_is_not_taken_for_one_ahead(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await executor.write(claimed, session)
    held = Held(claim.fence)
    renew = claims.renew

    def meanwhile(*args: Any) -> claims.Renewal:
        made = renew(*args)
        held.fence.head_position += 1
        return made

    monkeypatch.setattr(claims, "renew", meanwhile)
    await LeaseKeeper("one", PATIENT, {session.id: held}).renew()
    assert not held.fenced


async def test_an_age_is_minded_whatever_the_round_waits_for(session: Session) -> None:
    """By the real clock: that it comes at all while a round goes on, not how soon."""
    claim = await executor.write(claimed, session)
    held = Held(claim.fence)
    limits = ActorLimits(renew_seconds=60, self_fence_seconds=0.05)
    keeping = asyncio.ensure_future(LeaseKeeper("one", limits, {session.id: held}).keep())
    try:
        async with asyncio.timeout(30):
            while not held.fenced:
                await asyncio.sleep(0.01)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
