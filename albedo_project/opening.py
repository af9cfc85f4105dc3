"""The storage as a command finds it: brought up to date and watched, or told of in a line and not used."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from albedo_project.guarded_sqlite3 import watch
from sessions_app.store.trouble import trouble_of

log = logging.getLogger(__name__)


@contextmanager
def trouble_told() -> Iterator[None]:
    """What the storage raises becomes a CommandError; a fault of ours stays what it is."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, watch.FilesLost) and trouble_of(error) is None:
            raise
        raise CommandError(f"The storage cannot be used: {error}") from error


def open_database() -> None:
    """Bring the database up to date; a SQLite file is watched from then on. Raises CommandError."""
    with trouble_told():
        if connection.vendor == "sqlite":
            watch.refuse_forgotten(_file())
        call_command("migrate", interactive=False, verbosity=0)
        connections.close_all()
        if connection.vendor == "sqlite":
            watch.begin(_file())


def require_shared() -> None:
    """For processes that are several: a database and a layer that all reach, brought up to date before.

    A database that is away is waited for by whoever needs it, as it is later. Raises CommandError.
    """
    if not settings.REDIS_URL:
        raise CommandError("This needs REDIS_URL: the in-memory layer reaches no other process.")
    if connection.vendor == "sqlite":
        raise CommandError("This needs DATABASE_URL: whoever serves on SQLite takes it for its own.")
    try:
        executor = MigrationExecutor(connection)
        behind = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except OperationalError as error:
        log.warning("The database is away, so that nobody knows whether it is up to date: %s", error)
        return
    finally:
        connections.close_all()
    if behind:
        raise CommandError("The database is not up to date with this version: run `manage.py migrate` first.")


def close_database() -> None:
    """When nothing uses it any more."""
    connections.close_all()
    watch.end()


def _file() -> Path:
    return Path(str(connection.settings_dict["NAME"]))
