"""How much sessions take, by the bytes of their texts and data: indexes and overhead come on top."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Coalesce, Length

from sessions_app import workspaces
from sessions_app.models import (
    Artifact,
    ContentChunk,
    Entry,
    Input,
    ProviderAttempt,
    Session,
    ToolCall,
)

# What each kind of row holds; texts count by characters where nothing tells their bytes.
_WEIGHTS = (
    (ContentChunk, "entry__session_id__in", F("length_bytes")),
    (Artifact, "session_id__in", F("size_bytes")),
    (Entry, "session_id__in", F("content_bytes")),
    (ToolCall, "session_id__in", Length("arguments_text") + Length("result_text")),
    (ProviderAttempt, "session_id__in", Length("record")),
    (Input, "session_id__in", Length("text")),
)
# Sessions of one sum: a statement that reads through everything would be ended by the database's own limits.
_PAGE = 100


def session_bytes(*session_ids: UUID) -> int:
    """Of the rows of some sessions: as many queries as there are kinds, each by an index."""
    return sum(
        _sum(model._default_manager.filter(**{owners: session_ids}), weight)
        for model, owners, weight in _WEIGHTS
    )


def attempt_bytes(rows: QuerySet[ProviderAttempt]) -> int:
    return _sum(rows, Length("record"))


def is_exact() -> bool:
    """Whether `database_bytes` is by pages in use, and costs nothing."""
    return connection.vendor == "sqlite"


def database_bytes() -> int:
    """Of all content. Where it is not exact, all sessions are read for it."""
    if is_exact():
        return (_pragma("page_count") - _pragma("freelist_count")) * _pragma("page_size")
    total, ids = 0, Session.every.order_by("id").values_list("id", flat=True)
    page = list(ids[:_PAGE])
    while page:
        total += session_bytes(*page)
        page = list(ids.filter(id__gt=page[-1])[:_PAGE])
    return total


def free_file_bytes() -> int:
    """Inside SQLite's file: pages that nothing uses."""
    return _pragma("freelist_count") * _pragma("page_size")


def folder_bytes(folder: Path) -> int:
    """What a folder takes on disk; no link is followed, and what cannot be read does not count."""
    total = 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    return total


def workspaces_bytes() -> int:
    """Of everything under DIR/workspaces."""
    return folder_bytes(workspaces.root())


def _sum(rows: QuerySet[Any], weight: Any) -> int:
    return int(rows.aggregate(total=Coalesce(Sum(weight), 0))["total"])


def _pragma(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return int(cursor.fetchone()[0])
