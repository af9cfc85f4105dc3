"""The distributed mode as `make run-distributed` starts it: what `ServerProcess` is for the embedded one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import end, wait_for
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer

# A launcher that is gone takes all its processes along.
GONE_SECONDS = 15.0
DRAIN_SECONDS = 45.0


class DistributedProcess(ServerProcess):
    """Web processes behind nginx, actor hosts, a Redis of its own; on `DATABASE_URL` where that is given."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "scripts.distributed", "--port", "0", "--data-dir", str(self.data_dir)]

    @property
    def processes(self) -> dict[str, list[int]]:
        """The pids of each kind that run now: `web`, `actors`, `nginx`, `redis`, `postgres`."""
        told = json.loads((self.data_dir / "processes.json").read_text("utf-8"))
        return {kind: pids if isinstance(pids, list) else [pids] * bool(pids) for kind, pids in told.items()}

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
    whole = DistributedProcess(data_dir, DATABASE_URL=url)
    try:
        whole.start()
        yield whole
    finally:
        whole.close()
    postgres_server.drop(url)


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
