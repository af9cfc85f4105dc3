"""The storage as a command finds it: brought up to date and watched, or told of in a line and not used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections

from albedo_project.guarded_sqlite3 import watch
from sessions_app.store.trouble import trouble_of


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


def close_database() -> None:
    """When nothing uses it any more."""
    connections.close_all()
    watch.end()


def _file() -> Path:
    return Path(str(connection.settings_dict["NAME"]))
