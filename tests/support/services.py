"""Redis and PostgreSQL for tests: servers of our own on free ports, started when a test first asks.

`TEST_REDIS_URL` and `TEST_DATABASE_URL` name servers to use instead. Where there is neither a server nor
its program, the test is skipped and says so.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql

from tests.support.processes import accepts, end, free_port, spawn, tail, wait_for

POSTGRES_ROOT = Path("/usr/lib/postgresql")


class RedisServer:
    """One Redis that keeps nothing on disk; `stop` and `start` keep its port."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._folder / "redis.log"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        process = spawn([self._program, *options, "--dir", self._folder], log)
        self.process = process
        wait_for(lambda: accepts(self.port) or process.poll() is not None, "Redis answers")
        assert process.poll() is None, tail(log)

    def stop(self) -> None:
        if self.process is not None:
            end(self.process)
            self.process = None


class PostgresServer:
    """One PostgreSQL cluster in a temporary folder, or one named from outside. Makes databases."""

    def __init__(self, url: str) -> None:
        self.url = url

    def new_database(self) -> str:
        """A fresh, empty database; its URL."""
        name = f"albedo_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        parts = conninfo.conninfo_to_dict(self.url)
        user, password = parts.get("user", "postgres"), parts.get("password", "")
        login = f"{user}:{password}" if password else f"{user}"
        return f"postgresql://{login}@{parts.get('host', '127.0.0.1')}:{parts.get('port', 5432)}/{name}"

    def drop(self, url: str) -> None:
        name = str(conninfo.conninfo_to_dict(url)["dbname"])
        with psycopg.connect(self.url, autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(drop.format(sql.Identifier(name)))


def start_redis(folder: Path) -> RedisServer:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed and TEST_REDIS_URL is not set")
    server = RedisServer(program, folder)
    server.start()
    return server


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


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The suite's Redis. Tests that stop or flush it use `own_redis`."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given
        return
    server = start_redis(tmp_path_factory.mktemp("redis"))
    yield server.url
    server.stop()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of this test alone, to be stopped and started at will."""
    server = start_redis(tmp_path)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The suite's PostgreSQL."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield PostgresServer(given)
        return
    programs, user = postgres_programs(), unprivileged_user()
    # Not under pytest's folder, which another user may not enter; and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="albedo-pg-"))
    try:
        yield from _running_cluster(programs, user, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """One empty database, shared by the tests that ask for it."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop(url)


def _running_cluster(
    programs: Path, user: pwd.struct_passwd | None, folder: Path
) -> Iterator[PostgresServer]:
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    log, data, port = folder / "log", folder / "data", free_port()
    options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]
    made = spawn([programs / "initdb", "--pgdata", data, *options], log, user=user, folder=folder)
    assert made.wait(60) == 0, tail(log)
    # Nothing here outlives the run, so nothing is forced to disk.
    arguments = ["-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1", "-F"]
    process = spawn([str(programs / "postgres"), *map(str, arguments)], log, user=user, folder=folder)
    server = PostgresServer(f"postgresql://postgres@127.0.0.1:{port}/postgres")
    try:
        wait_for(lambda: process.poll() is not None or _answers(server.url), "PostgreSQL answers")
        assert process.poll() is None, tail(log)
        yield server
    finally:
        end(process)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
