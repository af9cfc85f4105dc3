"""Who may act for a session: one filtered update that bumps the generation, and one changed row is the claim.

Leases are measured by the database's clock alone, so that hosts with wrong clocks agree.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from sessions_app.models import Input, Run, Session, ToolCall
from sessions_app.store.attempts import close_open_attempts
from sessions_app.store.fence import Fence, lost, mine
from sessions_app.store.runs import RunEnd, end_run, pending_inputs
from sessions_app.store.sessions import is_busy


@dataclass(frozen=True, slots=True)
class Address:
    """Where a session's actor listens, and in which public generation."""

    channel: str
    generation: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A session that is ours now, with what waits in it as of the claim; `since` as in Renewal."""

    fence: Fence
    session: Session
    pending: list[Input]
    since: float


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a host still holds, by session, and which of their runs a user asked to stop.

    `heads` are the last positions that are stored. `since` is a reading of `time.monotonic`: no lease of
    these began before it.
    """

    generations: dict[UUID, int]
    heads: dict[UUID, int]
    interrupts: dict[UUID, UUID]
    since: float


def lease_end(seconds: float) -> Combinable:
    return ExpressionWrapper(Now() + Value(timedelta(seconds=seconds)), output_field=DateTimeField())


def free() -> Q:
    """Of sessions: that nobody holds a lease of theirs."""
    return Q(lease_until__isnull=True) | Q(lease_until__lt=Now())


def claim(session_id: UUID, *, host: str, channel: str, lease_seconds: float) -> Claim | None:
    """Take a session nobody holds and close what its last actor left unfinished, in one transaction.

    Called again with the same `channel` it takes it again: nobody learnt of the first time.
    """
    with transaction.atomic():
        since = time.monotonic()
        ours = Q(host=host, actor_channel=channel)
        taken = Session.objects.filter(free() | ours, id=session_id).update(
            generation=F("generation") + 1,
            generation_nonce=secrets.token_hex(4),
            lease_until=lease_end(lease_seconds),
            actor_channel=channel,
            host=host,
            last_sequence=None,
        )
        if taken != 1:
            return None
        session = Session.objects.get(id=session_id)
        _close_unfinished(session)
        fence = Fence(session.id, session.generation, session.head_position)
        return Claim(fence, session, pending_inputs(session.id), since)


def renew(host: str, session_ids: Collection[UUID], lease_seconds: float) -> Renewal:
    """Extend the leases of a host's living actors; a session missing from the answer is lost."""
    with transaction.atomic():
        # Read when the wait for a thread and for SQLite's lock is over: neither is part of the lease.
        since = time.monotonic()
        ours = Session.objects.filter(id__in=session_ids, host=host, lease_until__isnull=False)
        ours.update(lease_until=lease_end(lease_seconds))
        rows = list(ours.values_list("id", "generation", "head_position"))
    held = {session_id: generation for session_id, generation, _ in rows}
    stops = Run.objects.filter(
        session_id__in=held, state=Run.State.RUNNING, interrupt_requested_at__isnull=False
    ).values_list("session_id", "id")
    return Renewal(held, {session_id: head for session_id, _, head in rows}, dict(stops), since)


def release(fence: Fence, last_sequence: int | None) -> None:
    """Give the lease back, and with it the right to write. Raises LeaseLost.

    With `last_sequence` the newest cursor stays good for `up_to_date`. Leaving is no activity of the session.
    """
    if mine(fence).update(lease_until=None, actor_channel="", host="", last_sequence=last_sequence) != 1:
        raise lost(fence)


def release_idle(fence: Fence, last_sequence: int) -> bool:
    """The same unless work came meanwhile: then False, and the lease stays. Raises LeaseLost.

    One transaction, so that an input is either seen here or finds the session free.
    """
    with transaction.atomic():
        if mine(fence).select_for_update().first() is None:
            raise lost(fence)
        if is_busy(fence.session_id):
            return False
        release(fence, last_sequence)
        return True


def abandon(fence: Fence) -> None:
    """Free the lease of an actor that is known to be dead; its newest cursor is void. LeaseLost."""
    release(fence, None)


def actor_address(session_id: UUID) -> Address | None:
    """Where the session's living actor listens; None where no lease runs."""
    row = Session.objects.filter(id=session_id, lease_until__gte=Now()).exclude(actor_channel="").first()
    return Address(row.actor_channel, row.public_generation) if row else None


def orphans(limit: int) -> list[UUID]:
    """Sessions with work and without an actor, those that wait longest first."""
    unfinished = Run.objects.filter(session_id=OuterRef("id"), state=Run.State.RUNNING)
    waiting = Input.objects.filter(session_id=OuterRef("id"), state=Input.State.PENDING)
    alone = Session.objects.filter(free()).filter(Exists(unfinished) | Exists(waiting))
    return list(alone.order_by("activity_at").values_list("id", flat=True)[:limit])


def waiting_at(host: str, limit: int) -> list[UUID]:
    """Sessions of a host where an input waits: their actors may have missed that it came."""
    waiting = Input.objects.filter(session_id=OuterRef("id"), state=Input.State.PENDING)
    ours = Session.objects.filter(Exists(waiting), host=host)
    return list(ours.order_by("activity_at").values_list("id", flat=True)[:limit])


def free_all() -> int:
    """Let go of every lease, for the one process that knows to be alone with its database; how many."""
    return Session.every.exclude(host="").update(lease_until=None, actor_channel="", host="")


def _close_unfinished(session: Session) -> None:
    for run in Run.objects.filter(session=session, state=Run.State.RUNNING):
        stopped = run.interrupt_requested_at is not None
        state = Run.State.INTERRUPTED if stopped else Run.State.ABANDONED
        error = None if stopped else {"code": "abandoned", "detail": "The server stopped during this run."}
        end_run(session, run.id, RunEnd(state=state, error=error), running_calls=ToolCall.State.LOST)
        close_open_attempts(run.id, "lease_lost")
