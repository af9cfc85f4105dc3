"""What `make run-distributed` starts, as a target: all behind one nginx, kept running by its launcher."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.chaos.database import Postgres
from tests.chaos.target import NO_SPARE_KERNELS, Target
from tests.support.distributed import SharingWhole
from tests.support.processes import wait_for
from tests.support.services import PostgresServer, RedisNumbers


class Whole(Target):
    """Two web processes and two hosts. There is one address."""

    name = "whole"
    lease_seconds = 15.0

    def __init__(self, folder: Path, postgres: PostgresServer, redis: RedisNumbers) -> None:
        self._postgres, self._url = postgres, postgres.new_database()
        environment = {**NO_SPARE_KERNELS, "DATABASE_URL": self._url}
        self.server = SharingWhole(postgres, redis, folder / "data", **environment)
        self.database = Postgres(self._url)

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
        raise NotImplementedError("its processes are the launcher's children")

    def replace(self, kind: str, number: int, how: signal.Signals = signal.SIGTERM) -> None:
        """End one process; back when another is ready in its place."""
        news = f"{kind}-{number} is back" if self.server.count(kind) > 1 else f"{kind} is back"
        before = self._said(news)
        os.kill(self.server.processes[kind][number - 1], how)
        wait_for(lambda: self._said(news) > before, news, 120)

    def log_files(self) -> list[Path]:
        return self.server.log_files()

    def close(self) -> None:
        self.server.close()
        self._postgres.drop(self._url)

    def _said(self, words: str) -> int:
        return self.server.log.read_text("utf-8", "replace").count(words)
