"""What `manage.py prune` does: old sessions are found, claimed at rest, and removed piece by piece.

It runs beside any number of servers. What they work on, or somebody watches, is passed over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Q, QuerySet

from sessions_app import workspaces
from sessions_app.models import Session
from sessions_app.quantities import show_size
from sessions_app.store import retention, retention_sizes
from sessions_app.store.retention import Removal, RemovalLost
from sessions_app.store.retention_rows import old_attempts, remove_attempts, remove_some, row_pace
from sessions_app.store.sessions import is_busy

_PAGE = 100
# Whoever waits for SQLite's lock looks for it every tenth of a second at worst: it must be found free.
PAUSE_LEAST_SECONDS = 0.02
FOLDER_TRIES = 5

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions may go: none used since `before`, nor since `spared_since` for `most_bytes`."""

    spared_since: datetime
    before: datetime | None = None
    most_bytes: int | None = None
    archived_only: bool = False
    keep_named: bool = False
    keep: frozenset[UUID] = frozenset()


@dataclass(slots=True)
class Done:
    """What was removed, or with `dry_run` would have been."""

    sessions: int = 0
    rows: int = 0
    database_bytes: int = 0
    workspace_bytes: int = 0
    attempts: int = 0
    busy: int = 0
    seen: set[UUID] = field(default_factory=set)


class Size:
    """Of everything, as it shrinks: measured where that costs nothing, else by what was removed since."""

    def __init__(self, done: Done, dry_run: bool) -> None:
        self._done = done
        self._exact = retention_sizes.is_exact() and not dry_run
        self._database = retention_sizes.database_bytes()
        self._folders = retention_sizes.workspaces_bytes()
        # In a dry run what was done before would have been gone by now.
        self._database_before = 0 if dry_run else done.database_bytes
        self._folders_before = 0 if dry_run else done.workspace_bytes

    def told(self) -> str:
        return f"{show_size(self._database)} in the database, {show_size(self._folders)} of workspaces"

    def now(self) -> int:
        folders = self._folders - (self._done.workspace_bytes - self._folders_before)
        if self._exact:
            return retention_sizes.database_bytes() + folders
        return self._database - (self._done.database_bytes - self._database_before) + folders


def give_way(took: float) -> None:
    """Between two transactions: as long as the last one took belongs to the others."""
    time.sleep(max(took, PAUSE_LEAST_SECONDS))


class Pruner:
    """One run of the command. `say` gets a line for each session."""

    def __init__(self, wanted: Wanted, *, dry_run: bool, say: Say) -> None:
        self._wanted = wanted
        self._dry_run = dry_run
        self._say = say
        self._pace = row_pace()
        self.done = Done()

    def prune(self) -> Done:
        """By age, then by size, the oldest first; before that what others left half removed."""
        if not self._dry_run:
            self._finish_broken()
        if self._wanted.before is not None:
            for session in self._candidates(self._wanted.before):
                self._remove(session, self._wanted.before)
        if self._wanted.most_bytes is not None:
            self._shrink(self._wanted.most_bytes)
        return self.done

    def prune_attempts(self, before: datetime) -> None:
        """The diagnostic records of attempts that began before."""
        if self._dry_run:
            rows = old_attempts(before)
            self.done.attempts = rows.count()
            self.done.database_bytes += retention_sizes.attempt_bytes(rows)
            return
        while removed := remove_attempts(before, self._pace):
            self.done.attempts += removed
            give_way(self._pace.took_seconds)

    def _shrink(self, most_bytes: int) -> None:
        since, size = self._wanted.spared_since, Size(self.done, self._dry_run)
        self._say(size.told())
        for session in self._candidates(since):
            if size.now() <= most_bytes:
                return
            self._remove(session, since)
        if size.now() > most_bytes:
            self._say(f"still {show_size(size.now())}: nothing else may be removed")

    def _candidates(self, before: datetime) -> Iterator[Session]:
        """Sessions at rest, the longest unused first; read page by page, each once."""
        rows = self._allowed(retention.resting(before)).order_by("activity_at", "id")
        rows = rows.only("id", "activity_at", "workspace")
        page = list(rows[:_PAGE])
        while page:
            yield from (session for session in page if session.id not in self.done.seen)
            last = page[-1]
            behind = Q(activity_at__gt=last.activity_at) | Q(activity_at=last.activity_at, id__gt=last.id)
            page = list(rows.filter(behind)[:_PAGE])

    def _allowed(self, rows: QuerySet[Session]) -> QuerySet[Session]:
        wanted = self._wanted
        if wanted.archived_only:
            rows = rows.filter(archived=True)
        if wanted.keep_named:
            rows = rows.filter(name="")
        return rows.exclude(id__in=wanted.keep) if wanted.keep else rows

    def _remove(self, session: Session, before: datetime) -> None:
        """Unless work goes on in it after all."""
        self.done.seen.add(session.id)
        rows = retention_sizes.session_bytes(session.id)
        folder = retention.workspace_to_remove(session.id)
        files = retention_sizes.folder_bytes(folder) if folder else 0
        if not self._gone(session, before):
            self.done.busy += 1
            return
        self.done.sessions += 1
        self.done.database_bytes += rows
        self.done.workspace_bytes += files
        verb = "would remove" if self._dry_run else "removed"
        day = session.activity_at.date().isoformat()
        self._say(
            f"{verb} {session.id}, last used {day}: {show_size(rows)} in the database, "
            f"{show_size(files)} of workspace"
        )

    def _gone(self, session: Session, before: datetime) -> bool:
        if self._dry_run:
            return not is_busy(session.id)
        removal = retention.new_removal(session.id)
        if not retention.mark_idle(removal, before):
            return False
        self._finish(removal)
        return True

    def _finish_broken(self) -> None:
        while found := retention.unfinished(_PAGE):
            for session_id in found:
                removal = retention.take(session_id)
                if removal is not None:
                    self._finish(removal)
                    self._say(f"removed what was left of {session_id}")

    def _finish(self, removal: Removal) -> None:
        """To the end; broken off, the rest is the servers' at once."""
        try:
            self._remove_rows(removal)
            folder = retention.workspace_to_remove(removal.session_id)
            if folder is not None:
                _remove_folder(folder)
            retention.finish(removal)
        except RemovalLost:
            self._say(f"{removal.session_id} is removed by somebody else")
        except BaseException:
            with suppress(DatabaseError):
                retention.let_go(removal)
            raise

    def _remove_rows(self, removal: Removal) -> None:
        while removed := remove_some(removal, self._pace):
            self.done.rows += removed
            give_way(self._pace.took_seconds)


def _remove_folder(folder: Path) -> None:
    for _ in range(FOLDER_TRIES):
        if workspaces.remove(folder):
            return
        time.sleep(PAUSE_LEAST_SECONDS)
