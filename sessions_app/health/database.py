"""Whether requests get through to the database: asked by the threads and connections that requests use."""

from __future__ import annotations

from django.db import OperationalError, connection, transaction

from sessions_app.instance import hosting
from sessions_app.store import hosts


def look() -> bool:
    """Read something that every migrated database has; whether a host of actors is alive. Raises."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_migrations LIMIT 1")
        if cursor.fetchone() is None:
            raise OperationalError("the database is empty")
    return hosting.alive or hosts.living() > 0


def try_to_write() -> None:
    """Begin a transaction that may write, and write nothing. Raises where that cannot be."""
    # On SQLite this takes the one writer's lock.
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_setting('transaction_read_only')")
                if cursor.fetchone() != ("off",):
                    raise OperationalError("the database takes no writes")
