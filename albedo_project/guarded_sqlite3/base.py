"""The backend: each query, and each commit before it is believed, asks whether the files are still there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

from albedo_project.guarded_sqlite3 import watch

# A file that is new can give space back later, in steps. On any other this would wait for the writer's lock.
OF_A_NEW_FILE = "PRAGMA auto_vacuum = INCREMENTAL"


class DatabaseWrapper(base.DatabaseWrapper):
    """Raises OperationalError where the database was deleted, replaced or cut under a running server."""

    init_commands: list[str]

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        # Opening would make an empty database of a name that is gone.
        watch.check()
        database = Path(conn_params["database"])
        watch.refuse_forgotten(database)
        if not database.exists() or not database.stat().st_size:
            self.init_commands = [OF_A_NEW_FILE, *self.init_commands]
        return super().get_new_connection(conn_params)

    def create_cursor(self, name: str | None = None) -> Any:
        watch.check()
        return super().create_cursor(name)

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        # What was written into a file that nobody can find any more is not stored.
        with self.wrap_database_errors:
            watch.check()
