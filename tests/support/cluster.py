"""Web processes and actor hosts as separate processes on one PostgreSQL database and one Redis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.commands import run_python
from tests.support.environment import clean_environment
from tests.support.processes import accepts, end, free_port, spawn, tail, wait_for
from tests.support.services import PostgresServer

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 90.0
TOKEN = """
import django
django.setup()
from django.contrib.auth.models import User
from sessions_app.store.tokens import issue_token
user = User.objects.create_superuser("operator", password=None)
print("token:" + issue_token(user, "tests")[1])
"""


class Web:
    """One web process; it has what `SessionClient` needs of a server."""

    def __init__(self, cluster: Cluster, port: int, process: subprocess.Popen[bytes]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.token = cluster.token
        self.process = process
        self._clients: list[httpx.Client] = []

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """With the operator's token, another one, or none (`""`)."""
        chosen = self.token if token is None else token
        headers = {"Authorization": f"Bearer {chosen}"} if chosen else {}
        plain: dict[str, Any] = {"timeout": 30, "trust_env": False, **options}
        client = httpx.Client(base_url=self.url, headers=headers, **plain)
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()


class Cluster:
    """Everything shares one data folder, as hosts with a common volume do."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self._folder = folder
        environment = dict(os.environ)
        clean_environment(environment)
        self.environment = {
            **environment,
            "PYTHONUNBUFFERED": "1",
            "DATA_DIR": str(folder / "data"),
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "ALBEDO_INSPECT": "1",
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self._webs: list[Web] = []
        self._manage("migrate", "--verbosity", "0")
        made = {**self.environment, "DJANGO_SETTINGS_MODULE": "albedo_project.settings"}
        told = run_python("-c", TOKEN, **made)
        assert told.returncode == 0, told.stderr
        self.token = told.stdout.partition("token:")[2].strip()

    def web(self, **environment: str) -> Web:
        """`environment` is of this process alone."""
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "albedo_project.asgi:application", "--port", str(port)]
        process = self._spawn(command, f"web-{port}", environment)
        wait_for(lambda: accepts(port) or process.poll() is not None, "the web process", START_SECONDS)
        web = Web(self, port, process)
        self._webs.append(web)
        return web

    def launch_host(self, **environment: str) -> subprocess.Popen[bytes]:
        """A host that may not be ready yet."""
        number = len(self.processes)
        return self._spawn([sys.executable, "manage.py", "run_actors"], f"host-{number}", environment)

    def host(self, **environment: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"host-{len(self.processes)}.log"
        process = self.launch_host(**environment)
        wait_for(
            lambda: b"is ready" in log.read_bytes() or process.poll() is not None, "the host", START_SECONDS
        )
        assert process.poll() is None, tail(log)
        return process

    def logs(self) -> str:
        return "\n".join(path.read_text("utf-8") for path in self.log_files())

    def log_files(self) -> list[Path]:
        return sorted(self._folder.glob("*.log"))

    def close(self) -> None:
        for web in self._webs:
            web.close()
        left = [process for process in self.processes if process.poll() is None]
        for process in left:
            process.send_signal(signal.SIGTERM)
            # One that a test stopped must go on to be ended.
            process.send_signal(signal.SIGCONT)
        for process in left:
            end(process, signal.SIGCONT)

    def _spawn(
        self, command: list[str], name: str, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        log = self._folder / f"{name}.log"
        process = spawn(command, log, {**self.environment, **environment}, folder=PROJECT)
        self.processes.append(process)
        return process

    def _manage(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, cwd=PROJECT, env=self.environment, check=True, timeout=START_SECONDS)


@contextmanager
def running_cluster(
    folder: Path, postgres_server: PostgresServer, redis_url: str, **environment: str
) -> Iterator[Cluster]:
    """A cluster without processes yet, on a database of its own; `environment` is of all that it gets."""
    url = postgres_server.new_database()
    cluster = Cluster(folder, url, redis_url)
    cluster.environment.update(environment)
    try:
        yield cluster
    finally:
        cluster.close()
        postgres_server.drop(url)
