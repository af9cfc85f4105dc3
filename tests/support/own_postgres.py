"""A PostgreSQL of a test's own: crashed, stopped and started on its port, followed by a standby, promoted.

It forces nothing to disk: a crash of the server loses nothing that the system's cache has.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from tests.support.postgres import PostgresServer
from tests.support.processes import end, free_port, spawn, tail, wait_for

POSTGRES_ROOT = Path("/usr/lib/postgresql")
INITDB = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync")


def postgres_programs() -> Path:
    """The folder of the newest PostgreSQL. A bare `initdb` on the path may lack its server beside it."""
    folders = [
        path.parent for path in POSTGRES_ROOT.glob("*/bin/initdb") if (path.parent / "postgres").exists()
    ]
    if not folders:
        pytest.skip("PostgreSQL is not installed and TEST_DATABASE_URL is not set")
    return max(folders, key=lambda folder: int(folder.parent.name))


def unprivileged_user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses root, so root starts it as somebody else."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL refuses root, and there is no user postgres or nobody")


class OwnPostgres(PostgresServer):
    """One cluster in a folder of its own; `url` and the port stay the same from start to start."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._programs, self._user = postgres_programs(), unprivileged_user()
        self.folder, self._data, self._log = folder, folder / "data", folder / "log"
        self.settings = settings
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        super().__init__(f"postgresql://postgres@127.0.0.1:{self.port}/postgres")
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)

    def initialize(self) -> None:
        self._run("initdb", "--pgdata", str(self._data), *INITDB)

    def copy_from(self, primary: OwnPostgres, port: int | None = None) -> None:
        """Become a standby of `primary`, which may be ahead of it; it follows by `port` if that is given."""
        source = ("-h", "127.0.0.1", "-p", str(port or primary.port), "-U", "postgres")
        options = ("-R", "-X", "stream", "--checkpoint=fast", "--no-sync")
        self._run("pg_basebackup", "-D", str(self._data), *source, *options)

    def start(self, *, waits: bool = True) -> None:
        arguments = ["-D", str(self._data), "-p", str(self.port), "-k", str(self.folder), "-h", "127.0.0.1"]
        for name, value in self.settings.items():
            arguments += ["-c", f"{name}={value}"]
        program = str(self._programs / "postgres")
        self.process = spawn([program, *arguments, "-F"], self._log, user=self._user, folder=self.folder)
        if waits:
            self.wait()

    def wait(self) -> None:
        """Until it takes connections."""
        process = self._process
        wait_for(lambda: process.poll() is not None or self.answers(), "PostgreSQL answers")
        assert process.poll() is None, tail(self._log)

    def crash(self) -> None:
        """`pg_ctl stop -m immediate`: every connection breaks, transactions that did not commit are gone."""
        end(self._process, signal.SIGQUIT)

    def stop(self) -> None:
        end(self._process, signal.SIGINT)

    def make_tablespace(self, disk: Path) -> None:
        """The tablespace `small`, on a disk below this server's folder."""
        if self._user is not None:
            os.chown(disk, self._user.pw_uid, self._user.pw_gid)
        (disk / "space").mkdir()
        if self._user is not None:
            os.chown(disk / "space", self._user.pw_uid, self._user.pw_gid)
        self.run(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(sql.Literal(str(disk / "space"))))

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """As the superuser; whoever takes it closes it."""
        return psycopg.connect(host="127.0.0.1", port=self.port, user="postgres", dbname=database)

    def run(self, statement: LiteralString | sql.Composed) -> list[tuple[Any, ...]]:
        """As the superuser, outside of a transaction; its rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            made = connection.execute(statement)
            return made.fetchall() if made.description else []

    def kill_sessions(self) -> None:
        """End every connection but the one that asks."""
        self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )

    def promote(self) -> None:
        assert self.run("SELECT pg_promote(true, 30)") == [(True,)]

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    @property
    def _process(self) -> subprocess.Popen[bytes]:
        assert self.process is not None, "PostgreSQL was not started"
        return self.process

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        made = spawn(command, self._log, user=self._user, folder=self.folder)
        assert made.wait(60) == 0, tail(self._log)


@contextmanager
def postgres_cluster(**settings: str) -> Iterator[OwnPostgres]:
    """A running cluster, gone with the block. Not under pytest's folder, which another user may not enter."""
    with postgres_folder() as folder:
        server = OwnPostgres(folder, **settings)
        server.initialize()
        server.start()
        try:
            yield server
        finally:
            server.crash()


@contextmanager
def postgres_folder() -> Iterator[Path]:
    """A short path: a socket stands in it."""
    folder = Path(tempfile.mkdtemp(prefix="albedo-pg-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    """A PostgreSQL of this test alone, to be crashed and started at will."""
    with postgres_cluster() as server:
        yield server
