"""Sessions taken out of use, and their rows removed piece by piece behind that.

A session that is marked exists for nobody any more: its actor, if it had one, is past its generation. Whoever
removes it holds its lease, so that two do not do the same work; a removal that broke off is taken up again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import Combinable
from django.utils import timezone

from sessions_app import workspaces
from sessions_app.models import Session
from sessions_app.problems import NotFound
from sessions_app.store.claims import free, lease_end
from sessions_app.store.sessions import is_busy, require_idle


@dataclass(frozen=True, slots=True)
class Removal:
    """The right to remove a marked session's rows, while its lease lasts."""

    session_id: UUID
    worker: str


class RemovalLost(Exception):
    """Somebody else goes on with it, or it is done."""


def new_removal(session_id: UUID) -> Removal:
    """One that nobody else has."""
    return Removal(session_id, f"removal-{secrets.token_hex(8)}")


def mark_deleted(removal: Removal, *, force: bool) -> None:
    """Take a session out of use, from this transaction on; called again it changes nothing.

    Raises NotFound, Conflict (busy, without `force`).
    """
    with transaction.atomic():
        if _mine(removal).exists():
            return
        if not Session.objects.select_for_update().filter(id=removal.session_id).exists():
            raise NotFound
        if not force:
            require_idle(removal.session_id)
        _mark(removal)


def mark_idle(removal: Removal, before: datetime) -> bool:
    """The same for one that rested since `before`: without an actor, a run or an input that waits.

    False where it did not, or is gone.
    """
    session_id = removal.session_id
    with transaction.atomic():
        # The row's lock comes first: what is asked then cannot change before the mark.
        if not resting(before).select_for_update().filter(id=session_id).exists() or is_busy(session_id):
            return False
        _mark(removal)
        return True


def resting(before: datetime) -> QuerySet[Session]:
    """Sessions that nobody holds, without activity since `before`. Work may wait in them."""
    return Session.objects.filter(free(), activity_at__lt=before)


def _mark(removal: Removal) -> None:
    Session.objects.filter(id=removal.session_id).update(
        deleted_at=timezone.now(),
        generation=F("generation") + 1,
        generation_nonce=secrets.token_hex(4),
        lease_until=_lease_end(),
        host=removal.worker,
        actor_channel="",
        last_sequence=None,
    )


def unfinished(limit: int) -> list[UUID]:
    """Sessions whose removal broke off, or was left to whoever sweeps; the oldest first."""
    left = Session.every.filter(free(), deleted_at__isnull=False).order_by("deleted_at")
    return list(left.values_list("id", flat=True)[:limit])


def take(session_id: UUID) -> Removal | None:
    """Go on with a removal that nobody holds."""
    removal = new_removal(session_id)
    left = Session.every.filter(free(), id=session_id, deleted_at__isnull=False)
    taken = left.update(lease_until=_lease_end(), host=removal.worker)
    return removal if taken == 1 else None


def hold(removal: Removal) -> None:
    """Extend it, in the transaction of a piece. Raises RemovalLost."""
    if _mine(removal).update(lease_until=_lease_end()) != 1:
        raise RemovalLost(str(removal.session_id))


def let_go(removal: Removal) -> None:
    """Leave the rest to whoever sweeps."""
    with transaction.atomic():
        _mine(removal).update(lease_until=None, host="")


def finish(removal: Removal) -> None:
    """The session's own row, when nothing else of it is left. Raises RemovalLost."""
    with transaction.atomic():
        hold(removal)
        _mine(removal).delete()


def workspace_to_remove(session_id: UUID) -> Path | None:
    """Its folder, where that lies under DIR/workspaces and no session in use works in, above or below it.

    A folder elsewhere is its user's own and stays.
    """
    text = Session.every.filter(id=session_id).values_list("workspace", flat=True).first()
    folder = Path(text or "/")
    root = workspaces.root()
    if folder == root or not folder.is_relative_to(root):
        return None
    above = [str(parent) for parent in folder.parents if parent.is_relative_to(root)]
    near = Session.objects.filter(Q(workspace__startswith=str(folder)) | Q(workspace__in=above))
    others: Collection[str] = near.exclude(id=session_id).values_list("workspace", flat=True)
    return None if any(workspaces.overlap(Path(path), folder) for path in others) else folder


def _lease_end() -> Combinable:
    """As long as an actor's: every piece extends it, and after a crash somebody goes on that much later."""
    return lease_end(float(settings.ALBEDO["actor_lease_seconds"]))


def _mine(removal: Removal) -> QuerySet[Session]:
    return Session.every.filter(id=removal.session_id, host=removal.worker, deleted_at__isnull=False)
