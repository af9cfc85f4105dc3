"""Watches the files of the database that this process serves.

SQLite goes on writing into files that were deleted or replaced, and a commit there is lost with the process.
Nobody but the server removes its log while it holds the database open, so whatever is missing was taken away.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger("albedo.storage")

FORGOTTEN = (
    "{database} is missing or empty, though this folder had a database. Put it back from a backup. To begin "
    "anew instead, remove {marker} first; sessions and accounts of the old one are not in the new one."
)
MARKER = (
    "The database beside this file was made by the server. While this file is here, the server does not\n"
    "start without that database: it would look empty, and new sessions would be mixed with old workspaces.\n"
)
# The first copy of the log's index header: page size, then the last frame; and what a checkpoint has copied.
_INDEX = struct.Struct("=14xHI76xI")
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24


class FilesLost(sqlite3.OperationalError):
    """What is written now would be lost. Only a restart, on files that were put back, ends it."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    sqlite_errorname = "SQLITE_CORRUPT"


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    device: int
    inode: int

    @classmethod
    def at(cls, path: Path) -> _File:
        facts = path.stat()
        return cls(path, facts.st_dev, facts.st_ino)

    def size(self) -> int:
        """Of this very file. Raises FilesLost where its name leads to none or to another."""
        try:
            facts = self.path.stat()
        except OSError as error:
            raise FilesLost(f"{self.path.name} is gone: {error.strerror}") from None
        if (facts.st_dev, facts.st_ino) != (self.device, self.inode):
            raise FilesLost(f"{self.path.name} was replaced by another file")
        return facts.st_size


class Watch:
    """The files as they are now. Keeps a connection open, so that the log and its index stay."""

    def __init__(self, database: Path) -> None:
        self._keeper = sqlite3.connect(database, check_same_thread=False)
        self._keeper.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        self._database = _File.at(database)
        self._log = _File.at(database.with_name(f"{database.name}-wal"))
        self._index = _File.at(database.with_name(f"{database.name}-shm"))
        # Open to the end: closing it would let go of every lock that SQLite holds on it in this process.
        self._index_file = os.open(self._index.path, os.O_RDONLY | os.O_CLOEXEC)
        self._told = ""

    def check(self) -> None:
        """Raises FilesLost; says so in the log once."""
        try:
            self._check()
        except FilesLost as error:
            if self._told != str(error):
                self._told = str(error)
                log.critical("the database is lost, nothing is stored any more: %s", error)
            raise
        self._told = ""

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._keeper.close()
        os.close(self._index_file)

    def _check(self) -> None:
        self._index.size()
        before = self._needed_log_bytes()
        size = self._log.size()
        if not self._database.size():
            raise FilesLost(f"{self._database.path.name} was emptied")
        # Between two equal readings nobody began the log anew.
        if size < before and self._needed_log_bytes() == before:
            raise FilesLost(f"{self._log.path.name} was cut to {size} bytes")

    def _needed_log_bytes(self) -> int:
        """How long the log must be for all that is not in the database yet, by its shared index."""
        page_bytes, last_frame, copied = _INDEX.unpack(os.pread(self._index_file, _INDEX.size, 0))
        if last_frame <= copied:
            return 0
        frame_bytes = _FRAME_HEADER_BYTES + (65_536 if page_bytes == 1 else page_bytes)
        return int(_LOG_HEADER_BYTES + last_frame * frame_bytes)


class _Watched:
    watch: Watch | None = None


_watched = _Watched()


def begin(database: Path) -> None:
    """From now on queries of this process fail once the files of `database` are not these any more."""
    marker = marker_of(database)
    if not marker.exists():
        marker.touch(0o600)
        marker.write_text(MARKER, "ascii")
    _watched.watch = Watch(database)


def end() -> None:
    """The last of its connections is closed: SQLite puts its log away."""
    watch, _watched.watch = _watched.watch, None
    if watch is not None:
        watch.close()


def check() -> None:
    """Raises FilesLost; nothing is looked at before `begin`."""
    if _watched.watch is not None:
        _watched.watch.check()


def marker_of(database: Path) -> Path:
    return database.with_name(f"{database.name}.made")


def refuse_forgotten(database: Path) -> None:
    """Raises FilesLost where a database was and none is: an empty one would be made in its place."""
    marker = marker_of(database)
    if marker.exists() and (not database.exists() or not database.stat().st_size):
        raise FilesLost(FORGOTTEN.format(database=database, marker=marker))
