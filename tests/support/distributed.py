"""The distributed mode as `make run-distributed` starts it: what `ServerProcess` is for the embedded one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support.processes import end, wait_for
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer, RedisNumbers

# A launcher that is gone takes all its processes along.
GONE_SECONDS = 15.0
DRAIN_SECONDS = 45.0
# However busy the machine is, a stream begins.
PATIENT = {"ALBEDO_DELIVERY_CAPTURE_SECONDS": "60"}
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


class DistributedProcess(ServerProcess):
    """Web processes behind nginx and actor hosts; on `DATABASE_URL` and `REDIS_URL` where they are given."""

    start_seconds = 150.0

    def command(self) -> list[str]:
        return [sys.executable, "-m", "scripts.distributed", "--port", "0", "--data-dir", str(self.data_dir)]

    @property
    def processes(self) -> dict[str, list[int]]:
        """The pids of each kind that run now: `web`, `actors`, `nginx`, `redis`, `postgres`."""
        told = json.loads((self.data_dir / "processes.json").read_text("utf-8"))
        return {kind: pids if isinstance(pids, list) else [pids] * bool(pids) for kind, pids in told.items()}

    @property
    def actor_pids(self) -> list[int]:
        return self.processes["actors"]

    @property
    def pids(self) -> list[int]:
        return [self.pid, *self.processes["web"], *self.processes["actors"]]

    def output(self) -> str:
        return "\n".join(log.read_text("utf-8") for log in self.log_files())

    def log_files(self) -> list[Path]:
        return [self.log, *sorted((self.data_dir / "logs").glob("*.log"))]

    def stored(self) -> bytes:
        """Every row of every table, as text."""
        with psycopg.connect(self.environment["DATABASE_URL"]) as connection:
            names = connection.execute(TABLES).fetchall()
            rows = [connection.execute(_all_of(name)).fetchall() for (name,) in names]
        return "\n".join(text for found in rows for (text,) in found).encode()

    def kill9(self) -> None:
        """Kill the launcher; back once nothing of it runs any more."""
        everything = descendants(self.process.pid)
        end(self.process, signal.SIGKILL)
        wait_gone(everything)

    def terminate(self) -> int:
        return end(self.process, signal.SIGTERM, DRAIN_SECONDS)

    def replaced(self, kind: str, pid: int) -> bool:
        """Whether there is another process instead of `pid`, and as many as there were."""
        now = self.processes[kind]
        return pid not in now and len(now) == self.count(kind)

    def count(self, kind: str) -> int:
        return 2 if kind in ("web", "actors") else 1


class SharingWhole(DistributedProcess):
    """On a fresh database and an empty Redis number of servers that outlive it; lent from start to close."""

    def __init__(
        self, postgres: PostgresServer, redis: RedisNumbers, data_dir: Path, **environment: str
    ) -> None:
        super().__init__(data_dir, **environment)
        self._postgres, self._redis = postgres, redis
        self._lent = ExitStack()

    def launch(self) -> None:
        if "DATABASE_URL" not in self.environment:
            self.environment["DATABASE_URL"] = url = self._postgres.new_database()
            self._lent.callback(self._postgres.drop, url)
        if "REDIS_URL" not in self.environment:
            self.environment["REDIS_URL"] = self._lent.enter_context(self._redis.lent())
        super().launch()

    def close(self) -> None:
        """Nothing of it is needed any more: it is not drained."""
        if self.alive():
            self.kill9()
        super().close()
        self._lent.close()


class LeapingWhole(SharingWhole):
    """The same with actors whose clock goes on by `LEAP_SECONDS` at each `leap`."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.support.leaping_distributed", *super().command()[3:]]

    def leap(self) -> None:
        for pid in self.actor_pids:
            os.kill(pid, signal.SIGUSR1)


def descendants(pid: int) -> set[int]:
    """A process and all that it or its children started, kernels and guardians too."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found, queue = {pid}, [pid]
    while queue:
        fresh = [child for child in children.get(queue.pop(), []) if child not in found]
        found.update(fresh)
        queue += fresh
    return found


def wait_gone(pids: set[int]) -> None:
    """Return once none of them runs; fail with those that do."""
    try:
        wait_for(lambda: not running(pids), "the end of all processes", GONE_SECONDS)
    except AssertionError as error:
        left = {pid: Path(f"/proc/{pid}/cmdline").read_bytes()[:200] for pid in running(pids)}
        raise AssertionError(f"{error}: {left}") from None


def running(pids: set[int]) -> list[int]:
    return [
        pid for pid in pids if Path(f"/proc/{pid}/exe").is_symlink() and _state(pid) not in ("Z", "X", "")
    ]


def needs_nginx() -> None:
    if shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") is None:
        pytest.skip("nginx is not installed")


@pytest.fixture(scope="module")
def distributed(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer
) -> Iterator[DistributedProcess]:
    """One for the tests of a module, on a fresh database of the suite's PostgreSQL."""
    needs_nginx()
    url = postgres_server.new_database()
    data_dir = tmp_path_factory.mktemp("distributed") / "data"
    whole = DistributedProcess(data_dir, DATABASE_URL=url, **PATIENT)
    try:
        whole.start()
        yield whole
    finally:
        whole.close()
    postgres_server.drop(url)


def _all_of(table: str) -> sql.Composed:
    return sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(table))


def _parent(entry: Path) -> int | None:
    try:
        return int((entry / "stat").read_text("latin-1").rpartition(")")[2].split()[1])
    except OSError:
        return None


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()[0]
    except OSError:
        return ""
