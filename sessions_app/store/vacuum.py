"""Giving freed space back to the file system. Only SQLite needs to be asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import connection

INCREMENTAL = 2
# A step is a write like any other: everybody's next one comes soon.
_AIM_SECONDS = 0.05
_PAGES_LEAST, _PAGES_MOST = 16, 4_096


def gives_back() -> bool:
    """Whether this database can give space back in small steps; an older file needs `rebuild` once."""
    return connection.vendor == "sqlite" and _ask("auto_vacuum") == INCREMENTAL


def give_back(pause: Callable[[float], None]) -> None:
    """Shorten SQLite's file by its free pages, in short transactions; `pause` gets what each one took."""
    pages = _PAGES_LEAST
    while free := _ask("freelist_count"):
        began = time.monotonic()
        _run(f"PRAGMA incremental_vacuum({pages})")
        took = time.monotonic() - began
        if _ask("freelist_count") >= free:
            # Others make pages free as fast as that, or none can be.
            break
        pages = min(2 * pages, _PAGES_MOST) if took < _AIM_SECONDS / 2 else max(pages // 2, _PAGES_LEAST)
        pause(took)
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
    """Every row is taken: SQLite does such work as its rows are read."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
