"""Old sessions are removed beside a running server, on both databases, also when that breaks off."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import define_profile
from tests.support.commands import PROJECT, run_python
from tests.support.environment import clean_environment
from tests.support.processes import end, spawn, tail, wait_for
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer
from tests.support.session import SessionClient

ENTRIES = 3_000
FILL = """
import django, json, sys
django.setup()
from django.contrib.auth.models import User
from tests.integration.retention.content import full_session
owner = User.objects.get(username="operator")
for entries, pieces in ((int(sys.argv[1]), 0), (20, 4), (int(sys.argv[2]), 1)):
    made = full_session(owner, days=200, entries=entries, pieces=pieces)
    print(json.dumps({"id": str(made.id), "workspace": made.workspace}))
"""
HOLDS = "SELECT count(*) FROM sessions_app_entry WHERE session_id = {}"
AGES = "UPDATE sessions_app_session SET activity_at = '2020-01-01 00:00:00' WHERE id = {}"

pytestmark = pytest.mark.timeout(180)


class Place:
    """A running server, and what else one needs to work on its data."""

    def __init__(self, server: ServerProcess, environment: dict[str, str]) -> None:
        self.server = server
        self.environment = environment

    def ask(self, query: str, session_id: str) -> int:
        """What a query says, or how many rows it changed."""
        url = self.environment.get("DATABASE_URL")
        if url:
            with psycopg.connect(url) as postgresql:
                cursor = postgresql.execute(query.format(f"'{session_id}'").encode())
                return int(cursor.fetchall()[0][0]) if cursor.description else cursor.rowcount
        file = self.server.data_dir / "albedo.sqlite3"
        with closing(sqlite3.connect(file, timeout=30)) as sqlite, sqlite:
            found = sqlite.execute(query.format(f"'{session_id.replace('-', '')}'"))
            return int(found.fetchall()[0][0]) if found.description else found.rowcount

    def fill(self) -> list[dict[str, str]]:
        """Old sessions: a long one, a short one, and one with large texts."""
        made = run_python("-c", FILL, str(ENTRIES), str(ENTRIES // 4), **self.environment)
        assert made.returncode == 0, made.stderr
        return [json.loads(line) for line in made.stdout.splitlines()[-3:]]

    def prune(self, *arguments: str) -> str:
        done = run_python("manage.py", "prune", *arguments, **self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin_to_prune(self, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
        base: dict[str, str] = {}
        clean_environment(base)
        # What it leaves behind may be taken up soon.
        environment = {**self.environment, "ALBEDO_ACTOR_LEASE_SECONDS": "1", "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "manage.py", "prune", *arguments]
        return spawn(command, log, {**base, **environment}, folder=PROJECT)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    data = tmp_path / "data"
    environment = {"DATA_DIR": str(data), "DJANGO_SETTINGS_MODULE": "albedo_project.settings"}
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        environment["DATABASE_URL"] = postgres.new_database()
    own = {name: value for name, value in environment.items() if name == "DATABASE_URL"}
    with ServerProcess(data, **own, ALBEDO_ACTOR_SWEEP_SECONDS="0.3") as server:
        yield Place(server, environment)
    if own:
        postgres.drop(own["DATABASE_URL"])


def gone(client: httpx.Client, session_id: str) -> bool:
    return client.get(f"/api/sessions/{session_id}").status_code == 404


def waits(fact: Callable[[], bool], what: str) -> None:
    wait_for(fact, what, 60)


def is_removed(place: Place, session: dict[str, str]) -> bool:
    return place.ask(HOLDS, session["id"]) == 0 and not Path(session["workspace"]).exists()


def test_old_sessions_go_and_used_ones_stay_also_when_it_is_killed(place: Place, tmp_path: Path) -> None:
    client = place.server.client()
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)
        await Reply(Say("done"))(request, out)

    with ScriptedThread([slow]) as provider:
        profile = define_profile(place.server, provider.base_url, "responses")
        working = SessionClient.create(place.server, provider=profile)
        asked = working.ask("write")
        assert held.reached.wait_in_thread(30)
        watched = SessionClient.create(place.server)
        with watched.follow() as follower:
            follower.until(lambda: follower.view is not None, "the page")
            long, short, large = place.fill()
            for used in (working, watched):
                assert place.ask(AGES, used.id) == 1
            # One is deleted by its user meanwhile: for everybody it is gone with the answer.
            assert client.delete(f"/api/sessions/{large['id']}").status_code == 204
            assert gone(client, large["id"])
            killed_while_it_removes(place, long, tmp_path / "prune.log")
            # Whatever is left of it, for everybody it is gone; the server ends what broke off.
            assert gone(client, long["id"])
            waits(lambda: is_removed(place, long) and is_removed(place, large), "the end of the removals")
            told = place.prune("--older-than", "90d", "--attempts-older-than", "30d")
            assert gone(client, short["id"])
            assert is_removed(place, short)
            assert "Removed 1 sessions" in told
            for used in (working, watched):
                assert not gone(client, used.id)
        with working.follow() as follower:
            follower.until(lambda: follower.view is not None, "the page")
            held.release.set()
            follower.until_answered(asked["id"])
    assert [entry["kind"] for entry in working.history()] == ["user", "assistant"]


def killed_while_it_removes(place: Place, session: dict[str, str], log: Path) -> None:
    process = place.begin_to_prune(log, "--older-than", "90d")
    waits(lambda: place.ask(HOLDS, session["id"]) < ENTRIES or process.poll() is not None, "its begin")
    end(process, signal.SIGKILL)
    assert place.ask(HOLDS, session["id"]) > 0, tail(log)
