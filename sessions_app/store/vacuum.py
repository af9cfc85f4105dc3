"""Giving freed space back to the file system. Only SQLite needs to be asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from sessions_app.store.pace import Pace

INCREMENTAL = 2
_PAGES_FIRST, _PAGES_MOST = 256, 16_384


def gives_back() -> bool:
    """Whether this database can give space back in small steps; an older file needs `rebuild` once."""
    return connection.vendor == "sqlite" and _ask("auto_vacuum") == INCREMENTAL


def give_back(pause: Callable[[float], None]) -> None:
    """Shorten SQLite's file by its free pages, in short transactions; `pause` gets what each one took."""
    pace = Pace(_PAGES_FIRST, _PAGES_MOST)
    while free := _ask("freelist_count"):
        began = time.monotonic()
        _work(f"PRAGMA incremental_vacuum({pace.size})")
        pace.took(time.monotonic() - began)
        if _ask("freelist_count") >= free:
            # Others make pages free as fast as that, or none can be.
            break
        pause(pace.took_seconds)
    # The file gets shorter when the log is copied into it.
    _run("PRAGMA wal_checkpoint(PASSIVE)")


def rebuild() -> None:
    """Write SQLite's file anew: nobody else can write meanwhile, and it takes its size once more on disk.

    Afterwards `give_back` works.
    """
    _run(f"PRAGMA auto_vacuum = {INCREMENTAL}")
    _run("VACUUM")
    _run("PRAGMA wal_checkpoint(PASSIVE)")


def _ask(name: str) -> int:
    return int(_run(f"PRAGMA {name}")[0][0])


def _run(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _work(statement: str) -> None:
    """To its end: it gives a row without columns for each page, and the driver would stop at the first."""
    with connection.wrap_database_errors, connection.cursor() as cursor:
        cursor.executescript(statement)
