"""The fence: every durable write of an actor names its generation, and a stale one changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Session


class LeaseLost(Exception):
    """Another actor has the session. Write nothing, publish nothing, stop."""


@dataclass(frozen=True, slots=True)
class Fence:
    """What an actor's writes carry: which session, and in which of its lifetimes."""

    session_id: UUID
    generation: int


def mine(fence: Fence) -> QuerySet[Session]:
    """The session's row while it is still ours: not claimed anew, and its lease not given back."""
    return Session.objects.filter(id=fence.session_id, generation=fence.generation, lease_until__isnull=False)


def lost(fence: Fence) -> LeaseLost:
    return LeaseLost(f"session {fence.session_id} is past generation {fence.generation}")


def hold(fence: Fence) -> Session:
    """Lock the session's row for this transaction if it is still ours. Raises LeaseLost.

    The update comes first: it takes the row lock on PostgreSQL, so that no claim comes between.
    """
    if mine(fence).update(activity_at=timezone.now()) != 1:
        raise lost(fence)
    return Session.objects.get(id=fence.session_id)
