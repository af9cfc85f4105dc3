"""What faults are done to: the embedded server, or a cluster of web processes and actor hosts.

Both are killed and started again on the same data. A client asks for the address each time: it changes.
"""

from __future__ import annotations

import signal
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path

from tests.chaos.database import Database, Postgres, Sqlite
from tests.support.cluster import Cluster, Web
from tests.support.server import ServerProcess

# A third: what is proved is the order of these times to each other. Shorter ones end by themselves where
# a busy machine lets a host wait for its turn.
SHORT_LEASES = {
    "ALBEDO_ACTOR_LEASE_SECONDS": "5",
    "ALBEDO_ACTOR_RENEW_SECONDS": "1.5",
    "ALBEDO_ACTOR_SELF_FENCE_SECONDS": "3.5",
    "ALBEDO_ACTOR_SWEEP_SECONDS": "1",
}
DEFAULT_LEASES = {
    "ALBEDO_ACTOR_LEASE_SECONDS": "15",
    "ALBEDO_ACTOR_RENEW_SECONDS": "5",
    "ALBEDO_ACTOR_SELF_FENCE_SECONDS": "10",
    "ALBEDO_ACTOR_SWEEP_SECONDS": "2",
}
# A kernel that nobody uses only takes time from the others.
NO_SPARE_KERNELS = {"ALBEDO_KERNEL_PREWARMED": "0"}


class Target(ABC):
    """A running system, with its database and its logs."""

    name: str
    database: Database
    lease_seconds: float

    @property
    @abstractmethod
    def token(self) -> str: ...

    @abstractmethod
    def url(self, number: int = 0) -> str:
        """The address of a web process; numbers go round."""

    @abstractmethod
    def start(self) -> None:
        """Start whatever is not running, and return when it accepts connections."""

    @abstractmethod
    def launch(self) -> None:
        """Start what runs actors and return at once, however far it has come."""

    @abstractmethod
    def kill9(self) -> None:
        """End every process as a crash would."""

    @abstractmethod
    def terminate(self) -> None:
        """SIGTERM to every process, which drains; returns when all are gone."""

    @abstractmethod
    def actor_processes(self) -> list[subprocess.Popen[bytes]]:
        """Those that run actors now."""

    @abstractmethod
    def log_files(self) -> list[Path]:
        """All that its processes write; they are only appended to."""

    def log_text(self) -> str:
        """All that its processes ever wrote."""
        return "\n".join(file.read_text("utf-8", "replace") for file in self.log_files())

    @abstractmethod
    def close(self) -> None: ...

    def owner(self, session_id: str) -> subprocess.Popen[bytes] | None:
        """The process whose name stands in the session's lease, if it is one that runs now."""
        key = self.database.key(session_id)
        found = self.database.rows("SELECT host FROM sessions_app_session WHERE id = %s", key)
        pid = found[0][0].split("-")[-2] if found and found[0][0] else ""
        return next((process for process in self.actor_processes() if str(process.pid) == pid), None)


class Embedded(Target):
    name = "embedded"
    lease_seconds = float(DEFAULT_LEASES["ALBEDO_ACTOR_LEASE_SECONDS"])

    def __init__(self, folder: Path, **environment: str) -> None:
        self.server = ServerProcess(folder / "data", **{**NO_SPARE_KERNELS, **environment})
        self.database: Sqlite = Sqlite(self.server.data_dir / "albedo.sqlite3")

    @property
    def token(self) -> str:
        return self.server.token

    def url(self, number: int = 0) -> str:
        return self.server.url

    def start(self) -> None:
        if not self.server.alive():
            self.server.start()

    def launch(self) -> None:
        self.server.launch()

    def kill9(self) -> None:
        self.server.kill9()

    def terminate(self) -> None:
        self.server.terminate()

    def actor_processes(self) -> list[subprocess.Popen[bytes]]:
        return [self.server.process] if self.server.alive() else []

    def log_files(self) -> list[Path]:
        return [self.server.log]

    def close(self) -> None:
        self.server.close()


class Distributed(Target):
    """`webs` web processes and `hosts` actor hosts on PostgreSQL and Redis."""

    name = "cluster"

    def __init__(
        self,
        folder: Path,
        database_url: str,
        redis_url: str,
        webs: int = 2,
        hosts: int = 2,
        **environment: str,
    ) -> None:
        self._folder = folder
        self.cluster = Cluster(folder, database_url, redis_url)
        self.cluster.environment.update({**SHORT_LEASES, **NO_SPARE_KERNELS, **environment})
        self.lease_seconds = float(self.cluster.environment["ALBEDO_ACTOR_LEASE_SECONDS"])
        self.database = Postgres(database_url)
        self._web_count, self._host_count = webs, hosts
        self.webs: list[Web] = []
        self.hosts: list[subprocess.Popen[bytes]] = []

    @property
    def token(self) -> str:
        return self.cluster.token

    def url(self, number: int = 0) -> str:
        return self.webs[number % len(self.webs)].url

    def start(self) -> None:
        """Also hosts that a row killed; one that it stopped goes on."""
        webs = [web for web in self.webs if web.process.poll() is None]
        self.hosts = self.actor_processes()
        for host in self.hosts:
            host.send_signal(signal.SIGCONT)
        while len(webs) < self._web_count:
            webs.append(self.cluster.web())
        # Only now: clients ask for an address all the time, and one of the dead is as good as none.
        self.webs = webs
        while len(self.hosts) < self._host_count:
            self.add_host()

    def add_host(self) -> subprocess.Popen[bytes]:
        self.hosts.append(self.cluster.host())
        return self.hosts[-1]

    def launch(self) -> None:
        while len(self.actor_processes()) < self._host_count:
            self.hosts.append(self.cluster.launch_host())

    def kill9(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        processes = [*self.actor_processes(), *(web.process for web in self.webs)]
        for process in processes:
            process.send_signal(how)
        for process in processes:
            process.wait(60)

    def actor_processes(self) -> list[subprocess.Popen[bytes]]:
        return [host for host in self.hosts if host.poll() is None]

    def log_files(self) -> list[Path]:
        return sorted(self._folder.glob("*.log"))

    def close(self) -> None:
        self.cluster.close()
