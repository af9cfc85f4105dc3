"""What is wrong with the storage, from the error that it raised: one table for clients, actors and health.

Only what may pass or can be mended without a change of ours is trouble; every other error is a fault.
"""

from __future__ import annotations

import enum
import errno
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from sessions_app.problems import StorageTrouble

# A file system this full refuses what SQLite calls an error of input or output only.
FULL_BELOW_BYTES = 64 * 1024


class Kind(enum.Enum):
    """`BUSY`: it is there and has no time. `AWAY`: nobody knows whether the last write was stored."""

    BUSY = "busy"
    AWAY = "away"
    READ_ONLY = "read_only"
    FULL = "full"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Trouble:
    """`code` is a client's, of a problem with status 503; `run_code` that of a run that failed for it."""

    kind: Kind
    code: str
    run_code: str
    detail: str
    retry_after_seconds: int

    def problem(self) -> StorageTrouble:
        return StorageTrouble(self.code, self.detail, self.retry_after_seconds)


TROUBLES: dict[Kind, Trouble] = {
    kind: Trouble(kind, code, run_code, detail, seconds)
    for kind, code, run_code, detail, seconds in (
        (Kind.BUSY, "unavailable", "storage_unavailable", "The database is busy.", 2),
        (Kind.AWAY, "unavailable", "storage_unavailable", "The database does not answer.", 2),
        (Kind.READ_ONLY, "unavailable", "storage_unavailable", "The database takes no writes now.", 5),
        (Kind.FULL, "storage_full", "storage_full", "The server's storage is full.", 10),
        (Kind.FAILED, "storage_failed", "storage_failed", "The server's storage cannot be used.", 30),
    )
}

_SQLITE: dict[int, Kind] = {
    sqlite3.SQLITE_BUSY: Kind.BUSY,
    sqlite3.SQLITE_LOCKED: Kind.BUSY,
    sqlite3.SQLITE_PROTOCOL: Kind.BUSY,
    sqlite3.SQLITE_INTERRUPT: Kind.BUSY,
    sqlite3.SQLITE_SCHEMA: Kind.BUSY,
    sqlite3.SQLITE_FULL: Kind.FULL,
    sqlite3.SQLITE_READONLY: Kind.FAILED,
    sqlite3.SQLITE_CANTOPEN: Kind.FAILED,
    sqlite3.SQLITE_PERM: Kind.FAILED,
    sqlite3.SQLITE_IOERR: Kind.FAILED,
    sqlite3.SQLITE_CORRUPT: Kind.FAILED,
    sqlite3.SQLITE_NOTADB: Kind.FAILED,
}

# By SQLSTATE, then by its class; what is an OperationalError and stands in neither is AWAY.
_POSTGRESQL: dict[str, Kind] = {
    "25006": Kind.READ_ONLY,
    "40": Kind.BUSY,
    "53100": Kind.FULL,
    "53300": Kind.BUSY,
    "55P03": Kind.BUSY,
    "57014": Kind.BUSY,
    "58030": Kind.FAILED,
    "XX001": Kind.FAILED,
    "XX002": Kind.FAILED,
}

_OS: dict[int, Kind] = {
    errno.ENOSPC: Kind.FULL,
    errno.EDQUOT: Kind.FULL,
    errno.EROFS: Kind.FAILED,
    errno.EIO: Kind.FAILED,
    errno.EMFILE: Kind.BUSY,
    errno.ENFILE: Kind.BUSY,
}


class Busy(OperationalError):
    """A write that found no time to begin: nothing of it was done."""


def trouble_of(error: BaseException) -> Trouble | None:
    """What `error` says of the storage; None for an error that is about something else."""
    kind = _kind(error)
    return TROUBLES[kind] if kind else None


def is_connection_lost(error: BaseException) -> bool:
    """Whether a write that raised this may have been stored all the same."""
    return _kind(error) is Kind.AWAY


def _kind(error: BaseException) -> Kind | None:
    if isinstance(error, Busy):
        return Kind.BUSY
    if isinstance(error, DatabaseError | InterfaceError):
        return _database_kind(error)
    if isinstance(error, OSError):
        return _OS.get(error.errno or 0)
    return None


def _database_kind(error: DatabaseError | InterfaceError) -> Kind | None:
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return _sqlite_kind(cause)
    state = getattr(cause, "sqlstate", None) or ""
    found = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
    if found is None and isinstance(error, OperationalError | InterfaceError):
        return Kind.AWAY
    return found


def _sqlite_kind(error: sqlite3.Error) -> Kind | None:
    # The extended code's low byte is the primary one.
    kind = _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if kind is Kind.FAILED and _no_space_left():
        return Kind.FULL
    return kind


def _no_space_left() -> bool:
    try:
        return shutil.disk_usage(Path(settings.DATA_DIR)).free < FULL_BELOW_BYTES
    except OSError:
        return False
