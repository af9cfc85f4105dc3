"""Whether requests get through to the database: asked by the threads and connections that requests use."""

from __future__ import annotations

import time

from django.db import OperationalError, connection, transaction

from sessions_app.instance import hosting
from sessions_app.store import hosts

# Only a write that reaches the disk tells that the disk takes it; once in a while is enough while it does.
REAL_WRITE_SECONDS = 5.0


class _LastWrite:
    at = float("-inf")


_last = _LastWrite()


def look() -> bool:
    """Read something that every migrated database has; whether a host of actors is alive. Raises."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_migrations LIMIT 1")
        if cursor.fetchone() is None:
            raise OperationalError("the database is empty")
    return hosting.alive or hosts.living() > 0


def try_to_write() -> None:
    """Begin a transaction that may write; on SQLite, where it is time, really write. Raises where that fails.

    PostgreSQL's hosts write that they live; whether its disk takes that is for its own operator to watch.
    """
    now = time.monotonic()
    real = now - _last.at >= REAL_WRITE_SECONDS
    # On SQLite this takes the one writer's lock.
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT current_setting('transaction_read_only')")
            if cursor.fetchone() != ("off",):
                raise OperationalError("the database takes no writes")
        elif real:
            # A number in the file's header that nothing else uses.
            cursor.execute(f"PRAGMA user_version = {int(time.time()) % 2**31}")
    if real:
        _last.at = now
