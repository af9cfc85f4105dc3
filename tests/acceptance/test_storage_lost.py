"""Files of the embedded database that fail, are taken away or cut: nothing is accepted, and that is loud."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from uuid_utils.compat import uuid7

from tests.acceptance.test_storage_trouble import SLOW, all_refused, all_well, nothing_unforeseen
from tests.support.doors import Answer, Doors
from tests.support.failing_disk import SYNCS, WRITES, failing
from tests.support.processes import wait_for
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

pytestmark = pytest.mark.embedded(reason="it is about SQLite's files")
NAME = "albedo.sqlite3"


@pytest.fixture
def session(server: ServerProcess) -> SessionClient:
    """On the module's server, which every test leaves running, on whatever data."""
    return SessionClient.create(server)


def health(session: SessionClient) -> int:
    return session.http.get("/api/health").status_code


def database(session: SessionClient) -> Path:
    return session.server.data_dir / NAME


def refused_at_every_door(doors: Doors) -> None:
    answers = doors.try_all(doors.readers() | doors.streams() | doors.writers())
    all_refused(answers, "storage_failed")


def put(session: SessionClient, uid: str) -> Answer:
    answer = session.http.put(f"{session.path}/inputs/{uid}", json={"text": "once"})
    return Answer(answer.status_code, answer.json().get("code", ""), answer.headers.get("Retry-After", ""))


READ_ONLY = pytest.param(
    WRITES, "EROFS", marks=pytest.mark.skipif(not SLOW, reason="as EIO: runs with ALBEDO_TEST_SLOW=1")
)


@pytest.mark.parametrize(("calls", "error"), [(SYNCS, "EIO"), READ_ONLY])
def test_a_disk_that_fails_refuses_writes_until_it_works_again(
    session: SessionClient, tmp_path: Path, calls: str, error: str
) -> None:
    server, doors, uid = session.server, Doors(session), str(uuid7())
    files = [database(session), server.data_dir / f"{NAME}-wal"]
    with failing(server.pid, files, calls, error, tmp_path / "strace"):
        assert put(session, uid) == Answer(503, "storage_failed", "30")
        all_refused(doors.try_all(doors.writers()), "storage_failed")
        all_well(doors.try_all(doors.readers()))
        wait_for(lambda: health(session) == 503, "health")
    assert put(session, uid).status == 202
    session.settled()
    kept = [entry["content"][0]["text"] for entry in session.history() if entry["kind"] == "user"]
    assert kept.count("once") == 1
    wait_for(lambda: health(session) == 200, "health")
    nothing_unforeseen(server)


def test_a_database_that_was_taken_away_is_missed_at_once_and_never_made_anew(
    session: SessionClient, tmp_path: Path
) -> None:
    doors, file = Doors(session), database(session)
    away = tmp_path / "away"
    os.rename(file, away)
    try:
        refused_at_every_door(doors)
        wait_for(lambda: health(session) == 503, "health")
        assert not file.exists()
        shutil.copy(away, file)
        refused_at_every_door(doors)
    finally:
        os.rename(away, file)
    wait_for(lambda: health(session) == 200, "health")
    all_well(doors.try_all(doors.readers() | doors.streams() | doors.writers()))
    assert "CRITICAL albedo.storage the database is lost" in session.server.log.read_text()


def test_a_log_that_was_cut_is_the_end_until_a_restart(session: SessionClient) -> None:
    server, doors = session.server, Doors(session)
    os.truncate(server.data_dir / f"{NAME}-wal", 0)
    refused_at_every_door(doors)
    wait_for(lambda: health(session) == 503, "health")
    server.kill9()
    server.start()
    again = SessionClient.create(server)
    again.answer("it works on what is left")


def test_no_server_starts_beside_the_workspaces_of_a_database_that_is_gone(session: SessionClient) -> None:
    server = session.server
    server.terminate()
    database(session).unlink()
    with pytest.raises(AssertionError, match=r"albedo.sqlite3 is missing or empty") as refusal:
        server.start()
    marker = server.data_dir / f"{NAME}.made"
    assert str(marker) in str(refusal.value)
    marker.unlink()
    server.start()
    assert server.client().get("/api/sessions").json()["items"] == []
