"""`run_web`: what it refuses, and what it believes of the proxy before it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from albedo_project import new_keys
from tests.integration.deploy.test_healthcheck import asked
from tests.support.commands import run_python
from tests.support.environment import clean_environment
from tests.support.processes import end, free_port, spawn, tail, wait_for
from tests.support.server import PROJECT
from tests.support.services import PostgresServer

pytestmark = pytest.mark.timeout(180)
HOST = "albedo.example.org"
PRODUCTION = {"ALBEDO_ENV": "production", "ALLOWED_HOSTS": HOST, "ALBEDO_TRUST_PROXY": "1"}
Start = Callable[..., int]


@pytest.fixture(scope="module")
def shared(
    postgres_server: PostgresServer, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The environment of processes that share a migrated database."""
    url = postgres_server.new_database()
    data_dir = str(tmp_path_factory.mktemp("web") / "data")
    keys = dict(line.split("=", 1) for line in new_keys.lines().splitlines())
    given = {"DATABASE_URL": url, "REDIS_URL": redis_url, "DATA_DIR": data_dir, **keys}
    assert run_python("manage.py", "migrate", "--no-input", "--verbosity", "0", **given).returncode == 0
    yield given
    postgres_server.drop(url)


@pytest.fixture
def start(shared: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start one with further variables; its port."""
    started: list[subprocess.Popen[bytes]] = []

    def start_one(**environment: str) -> int:
        base = dict(os.environ)
        clean_environment(base)
        port, log = free_port(), tmp_path / "web.log"
        command = [sys.executable, "manage.py", "run_web", "--port", str(port)]
        given = {**base, "PYTHONUNBUFFERED": "1", **shared, **environment}
        process = spawn(command, log, given, folder=PROJECT)
        started.append(process)
        ready = f"ready on port {port}"
        wait_for(lambda: ready in tail(log) or process.poll() is not None, "the web process", 90)
        assert process.poll() is None, tail(log)
        return port

    yield start_one
    for process in started:
        assert end(process, signal.SIGTERM, 60) == 0


def client(port: int, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=60)


@pytest.mark.django_db
def test_what_is_for_one_process_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="REDIS_URL"):
        call_command("run_web")
    monkeypatch.setattr(settings, "REDIS_URL", "redis://localhost")
    with pytest.raises(CommandError, match="DATABASE_URL"):
        call_command("run_web")


@pytest.mark.parametrize("command", ["run_web", "run_actors"])
def test_a_database_of_another_version_is_refused(
    command: str, shared: dict[str, str], postgres_server: PostgresServer
) -> None:
    url = postgres_server.new_database()
    try:
        refused = run_python("manage.py", command, **{**shared, "DATABASE_URL": url})
    finally:
        postgres_server.drop(url)
    assert refused.returncode == 1
    assert "run `manage.py migrate` first" in refused.stderr


def test_in_production_what_came_over_https_is_served_and_all_else_sent_there(start: Start) -> None:
    port = start(**PRODUCTION)
    with client(port, Host=HOST) as plain:
        moved = plain.get("/login/")
    assert (moved.status_code, moved.headers["location"]) == (301, f"https://{HOST}/login/")
    with client(port, Host=HOST, **{"X-Forwarded-Proto": "https"}) as secure:
        page = secure.get("/login/")
        stranger = secure.get("/login/", headers={"Host": "evil.example"})
    assert page.status_code == 200
    assert "max-age" in page.headers["strict-transport-security"]
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-csrftoken=")
    assert "Secure" in cookie
    assert "server" not in page.headers
    assert stranger.status_code == 400
    # Without an actor host inputs are kept, and wait.
    assert asked(port, ALLOWED_HOSTS=HOST) == (0, '{"status":"degraded","faults":["hosts"]}')


def test_refused_sockets_are_answered_and_not_told_of_as_errors(start: Start, tmp_path: Path) -> None:
    port = start()
    for _ in range(3):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"ws://127.0.0.1:{port}/ws/sessions", proxy=None),
        ):
            pass
        answer = refused.value.response
        assert (answer.status_code, json.loads(answer.body or b"")["code"]) == (401, "not_authenticated")
    with client(port) as after:
        assert after.get("/api/health").status_code == 200
    assert " ERROR " not in (tmp_path / "web.log").read_text()


def failed_logins(port: int, addresses: list[str]) -> list[int]:
    """The statuses of failed logins, each of another account, from where the proxy says that they come."""
    statuses = []
    for number, address in enumerate(addresses):
        with client(port, **{"X-Forwarded-For": address}) as browser:
            form = browser.get("/login/")
            token = form.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
            body = {
                "csrfmiddlewaretoken": token,
                "username": f"nobody-{address}-{number}",
                "password": "wrong",
            }
            statuses.append(browser.post("/login/", data=body).status_code)
    return statuses


def test_where_the_proxy_is_trusted_the_address_that_it_tells_counts(start: Start) -> None:
    port = start(ALBEDO_TRUST_PROXY="1", ALBEDO_LOGIN_ATTEMPTS_PER_MINUTE="1")
    assert failed_logins(port, [f"192.0.2.{number}" for number in range(5)]) == [401] * 5


def test_where_it_is_not_nobody_can_hide_behind_another_address(start: Start) -> None:
    port = start(ALBEDO_LOGIN_ATTEMPTS_PER_MINUTE="1")
    statuses = failed_logins(port, [f"198.51.100.{number}" for number in range(5)])
    # Whenever a minute ends in between, it is one of each that passes.
    assert statuses.count(429) >= 3
