"""The fence: every durable write of an actor names its generation, and a stale one changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from sessions_app.models import Session


class LeaseLost(Exception):
    """Another actor has the session. Write nothing, publish nothing, stop."""


@dataclass(frozen=True, slots=True)
class Fence:
    """What an actor's writes carry: which session, and in which of its lifetimes."""

    session_id: UUID
    generation: int


def hold(fence: Fence) -> Session:
    """Lock the session's row for this transaction if it is still ours. Raises LeaseLost.

    The update comes first: it takes the row lock on PostgreSQL, so that no claim comes between.
    """
    mine = Session.objects.filter(id=fence.session_id, generation=fence.generation)
    if mine.update(activity_at=timezone.now()) != 1:
        raise LeaseLost(f"session {fence.session_id} is past generation {fence.generation}")
    return Session.objects.get(id=fence.session_id)
