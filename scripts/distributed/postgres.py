"""A PostgreSQL cluster of our own in the data folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import conninfo, sql

from albedo_project.keys import private_directory, stored_key
from scripts.distributed import once
from scripts.distributed.logs import Log
from scripts.distributed.ports import HOST
from scripts.distributed.process import Program, StartFailed

ROOT = Path("/usr/lib/postgresql")
NAME = "albedo"
ADMINISTRATOR = "postgres"
CONNECTIONS_BESIDE = 20
PASSWORD_BYTES = 24


def programs() -> Path:
    """The folder of the newest PostgreSQL. A bare `initdb` on the path may lack its server beside it."""
    folders = [path.parent for path in ROOT.glob("*/bin/initdb") if (path.parent / "postgres").exists()]
    if folders:
        return max(folders, key=lambda folder: int(folder.parent.name))
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    raise StartFailed("PostgreSQL is not installed, and DATABASE_URL is not set.")


def unprivileged_user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses root, so root starts it as somebody else."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise StartFailed("PostgreSQL refuses root, and there is no user postgres or nobody.")


class Postgres:
    """The cluster in `data_dir`/postgresql. `prepare`, set `port`, run `program`, `ensure_database`."""

    def __init__(self, data_dir: Path, connections: int) -> None:
        self.port = 0
        self._folder = data_dir / "postgresql"
        self._connections = connections + CONNECTIONS_BESIDE
        self._opened = -1
        self._programs = programs()
        self._user = unprivileged_user()
        secrets_dir = private_directory(data_dir / "secrets")
        self._passwords = {
            name: stored_key(secrets_dir / f"postgresql_{name}", _new_password)
            for name in (ADMINISTRATOR, NAME)
        }

    @property
    def url(self) -> str:
        """The database's, for a user that owns it and nothing else."""
        return f"postgresql://{NAME}:{quote(self._passwords[NAME])}@{HOST}:{self.port}/{NAME}"

    @property
    def program(self) -> Program:
        settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": str(self._connections),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return Program(
            "postgres",
            (str(self._programs / "postgres"), "-D", _place(self._opened), *options),
            self._folder,
            _environment(),
            self._user,
            (self._opened,),
            # Both leave the cluster as it should be; the second does not wait for anybody.
            stop_signal=signal.SIGINT,
            death_signal=signal.SIGQUIT,
        )

    async def prepare(self, output: Log) -> None:
        """Make the cluster where there is none, whole or not at all. Raises StartFailed."""
        if not self._folder.exists():
            await self._make(output)
        self._opened = os.open(self._folder, os.O_DIRECTORY)

    async def _make(self, output: Log) -> None:
        draft = self._folder.with_name(".postgresql.new")
        shutil.rmtree(draft, ignore_errors=True)
        private_directory(draft)
        if self._user is not None:
            os.chown(draft, self._user.pw_uid, self._user.pw_gid)
        await self._initdb(draft, output)
        draft.rename(self._folder)

    async def _initdb(self, folder: Path, output: Log) -> None:
        password, opened = os.memfd_create("password"), os.open(folder, os.O_DIRECTORY)
        try:
            os.write(password, self._passwords[ADMINISTRATOR].encode())
            options = [f"--username={ADMINISTRATOR}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
            command = [str(self._programs / "initdb"), f"--pgdata={_place(opened)}", *options]
            program = Program(
                "initdb",
                (*command, f"--pwfile={_place(password)}"),
                folder,
                _environment(),
                self._user,
                (password, opened),
            )
            await once.run(program, output)
        finally:
            os.close(password)
            os.close(opened)

    async def answers(self) -> bool:
        try:
            connection = await self._connect()
        except psycopg.OperationalError:
            return False
        await connection.close()
        return True

    async def ensure_database(self) -> None:
        """The user and its database, where they are not there yet."""
        async with await self._connect() as connection:
            name, password = sql.Identifier(NAME), sql.Literal(self._passwords[NAME])
            if not await _found(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s"):
                await connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, password))
            if not await _found(connection, "SELECT 1 FROM pg_database WHERE datname = %s"):
                await connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(name, name))

    async def _connect(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
        facts = conninfo.make_conninfo(
            host=HOST,
            port=self.port,
            user=ADMINISTRATOR,
            password=self._passwords[ADMINISTRATOR],
            dbname="postgres",
            connect_timeout=5,
        )
        return await psycopg.AsyncConnection.connect(facts, autocommit=True)


async def database_answers(url: str) -> bool:
    """Whether a database that is not ours to start can be reached."""
    try:
        connection = await psycopg.AsyncConnection.connect(url, connect_timeout=5)
    except psycopg.OperationalError:
        return False
    await connection.close()
    return True


async def _found(connection: psycopg.AsyncConnection[tuple[object, ...]], query: str) -> bool:
    cursor = await connection.execute(sql.SQL(query), (NAME,))
    return await cursor.fetchone() is not None


def _place(opened: int) -> str:
    """A name for what a child inherits open, also where its user may not enter the folders above it."""
    return f"/proc/self/fd/{opened}"


def _new_password() -> str:
    return os.urandom(PASSWORD_BYTES).hex()


def _environment() -> dict[str, str]:
    """Nothing of the launcher's own, where keys may stand."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
