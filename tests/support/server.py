"""The real server in a process of its own: started, killed, ended and started again on the same data.

This is the embedded mode; `tests.support.modes` makes servers of the mode that is tested.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.environment import clean_environment
from tests.support.processes import end, spawn, tail, wait_for

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 90.0
DRAIN_SECONDS = 60.0


class ServerProcess:
    """`manage.py serve` on a free port. Facts (`url`, `token`, `pid`) come from its server.json."""

    start_seconds = START_SECONDS

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        self.log = data_dir.parent / f"{data_dir.name}.log"
        self.environment = environment
        self.facts: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: list[httpx.Client] = []

    @property
    def url(self) -> str:
        return str(self.facts["url"]).rstrip("/")

    @property
    def token(self) -> str:
        return str(self.facts["token"])

    @property
    def pid(self) -> int:
        return int(self.facts["pid"])

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the server was not started"
        return self._process

    @property
    def actor_pids(self) -> list[int]:
        """The processes that run actors."""
        return [self.pid]

    @property
    def pids(self) -> list[int]:
        """Every process of ours that runs."""
        return [self.pid]

    def output(self) -> str:
        """All that its processes ever wrote."""
        return self.log.read_text("utf-8")

    def stored(self) -> bytes:
        """All that its database has, as it lies there."""
        return b"".join(path.read_bytes() for path in self.data_dir.glob("albedo.sqlite3*"))

    def start(self) -> Self:
        """Start and return once it accepts connections; the log stands in the failure where it does not."""
        self.launch()
        file = self.data_dir / "server.json"
        try:
            wait_for(lambda: self._read_facts(file) or not self.alive(), "server.json", self.start_seconds)
        except AssertionError as error:
            self.kill9()
            raise AssertionError(f"{error}\n{tail(self.log)}") from None
        assert self.alive(), f"the server ended with {self.process.returncode}\n{tail(self.log)}"
        return self

    def launch(self) -> None:
        """Start and return at once, whatever becomes of it."""
        self._process = spawn(self.command(), self.log, self._environment(), folder=PROJECT)

    def command(self) -> list[str]:
        return [sys.executable, "manage.py", "serve", "--port", "0", "--data-dir", str(self.data_dir)]

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill9(self) -> None:
        """End it as a crash would: nothing of it runs on."""
        end(self.process, signal.SIGKILL)

    def terminate(self) -> int:
        """SIGTERM, which drains; its return code."""
        return end(self.process, signal.SIGTERM, DRAIN_SECONDS)

    def restart(self, *, crash: bool = False) -> Self:
        """End it (by SIGTERM, or as a crash would) and start it again on the same data."""
        if crash:
            self.kill9()
        else:
            self.terminate()
        return self.start()

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """An HTTP client with the operator's token, another one, or none (`""`); closed with the server."""
        chosen = self.token if token is None else token
        headers = {"Authorization": f"Bearer {chosen}"} if chosen else {}
        # Plain HTTP on loopback: loading certificate authorities for each client takes longer than a test.
        plain: dict[str, Any] = {"timeout": 60, "trust_env": False, "verify": False, **options}
        client = httpx.Client(base_url=self.url, headers=headers, **plain)
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self.alive():
            self.terminate()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_facts(self, file: Path) -> bool:
        try:
            facts = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        if facts.get("pid") != self.process.pid:
            return False
        self.facts = facts
        return True

    def _environment(self) -> Mapping[str, str]:
        environment = dict(os.environ)
        clean_environment(environment)
        return {**environment, "PYTHONUNBUFFERED": "1", "ALBEDO_INSPECT": "1", **self.environment}


class LeapingServer(ServerProcess):
    """The same with a clock that goes on by `LEAP_SECONDS` at each `leap`."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.support.leaping_manage", *super().command()[2:]]

    def leap(self) -> None:
        os.kill(self.pid, signal.SIGUSR1)


StartServer = Callable[..., ServerProcess]
