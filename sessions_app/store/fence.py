"""The fence: every durable write of an actor names its generation, and a stale one changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Session


class LeaseLost(Exception):
    """Another actor has the session. Write nothing, publish nothing, stop."""


@dataclass(slots=True)
class Fence:
    """What an actor's writes carry: which session, and in which of its lifetimes.

    `given_up`: the actor was told to go, and writes nothing more even where nobody else has the session yet.
    `closing_at`, a reading of `time.monotonic`: it goes by itself, and tries no write for longer than that.
    `head_position` is the last entry that is known to be stored. `blocked` is told what its writes wait for,
    and None when they go on.
    """

    session_id: UUID
    generation: int
    head_position: int = 0
    given_up: bool = False
    closing_at: float | None = None
    blocked: Callable[[str | None], None] = lambda reason: None


def mine(fence: Fence) -> QuerySet[Session]:
    """The session's row while it is still ours: not claimed anew, and its lease not given back."""
    if fence.given_up:
        return Session.objects.none()
    return Session.objects.filter(id=fence.session_id, generation=fence.generation, lease_until__isnull=False)


def lost(fence: Fence) -> LeaseLost:
    return LeaseLost(f"session {fence.session_id} is past generation {fence.generation}")


def hold(fence: Fence) -> Session:
    """Lock the session's row for this transaction if it is still ours. Raises LeaseLost.

    The update comes first: it takes the row lock on PostgreSQL, so that no claim comes between. Where the
    database has forgotten what it had stored (a replica that lacks the end, a backup put back), what readers
    were told is not so any more, and only a new generation tells them.
    """
    if mine(fence).update(activity_at=timezone.now()) != 1:
        raise lost(fence)
    session = Session.objects.get(id=fence.session_id)
    if session.head_position < fence.head_position:
        raise LeaseLost(f"session {fence.session_id} has lost entries that were stored")
    transaction.on_commit(partial(_remember, fence, session))
    return session


def _remember(fence: Fence, session: Session) -> None:
    fence.head_position = max(fence.head_position, session.head_position)
