"""The rows of a session that is being removed, a bounded number in each transaction.

On SQLite there is one writer: whoever writes much at once keeps everybody waiting, and so does a deletion.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import models, transaction

from sessions_app.ids import first_id_at
from sessions_app.models import (
    Artifact,
    ContentChunk,
    Entry,
    Input,
    ProviderAttempt,
    Run,
    ToolCall,
)
from sessions_app.store.pace import Pace
from sessions_app.store.retention import Removal, hold

# Besides entries with their pieces, in an order in which nothing is left to point at what is gone.
OWNED: tuple[type[models.Model], ...] = (Artifact, ToolCall, ProviderAttempt, Input, Run)

ROWS_FIRST, ROWS_MOST = 16, 500


def row_pace() -> Pace:
    return Pace(ROWS_FIRST, ROWS_MOST)


def remove_some(removal: Removal, pace: Pace) -> int:
    """Delete as many rows as the pace says, and set it by the time that took; how many, 0 when none are left.

    Raises RemovalLost.
    """
    began = time.monotonic()
    with transaction.atomic():
        hold(removal)
        removed = _remove_entries(removal, pace.size)
        if removed < pace.size:
            removed += _remove_owned(removal, pace.size - removed)
    pace.took(time.monotonic() - began)
    return removed


def remove_attempts(before: datetime, pace: Pace) -> int:
    """Delete some diagnostic records of attempts that began before and have ended; how many."""
    began = time.monotonic()
    with transaction.atomic():
        removed = _delete(ProviderAttempt, _pks(old_attempts(before).order_by("id"), pace.size))
    pace.took(time.monotonic() - began)
    return removed


def old_attempts(before: datetime) -> models.QuerySet[ProviderAttempt]:
    """Their ids tell when they were made, so no other column has to be searched."""
    return ProviderAttempt.objects.filter(id__lt=first_id_at(before), ended_at__isnull=False)


def _remove_entries(removal: Removal, most: int) -> int:
    """Pieces of the entries that come first, then these; fewer than `most` when none are left."""
    entries = _pks(Entry.objects.filter(session_id=removal.session_id).order_by("position"), most)
    pieces = _pks(ContentChunk.objects.filter(entry_id__in=entries), most) if entries else []
    return _delete(ContentChunk, pieces) + _delete(Entry, entries[: most - len(pieces)])


def _remove_owned(removal: Removal, most: int) -> int:
    left = most
    for model in OWNED:
        if left:
            rows = model._default_manager.filter(session_id=removal.session_id)
            left -= _delete(model, _pks(rows, left))
    return most - left


def _pks(rows: models.QuerySet[Any], most: int) -> list[Any]:
    return list(rows.values_list("pk", flat=True)[:most])


def _delete(model: type[models.Model], pks: Sequence[Any]) -> int:
    if pks:
        # Their content is not read for it.
        model._default_manager.filter(pk__in=pks).only("pk").delete()
    return len(pks)
