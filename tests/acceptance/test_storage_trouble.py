"""The embedded server while its storage takes nothing: reads go on, writes are refused, no run is stuck."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from streaming.providers.scripted import Reply
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import MakeModel, Model
from tests.support.doors import Answer, Doors
from tests.support.processes import wait_for
from tests.support.server import ServerProcess, StartServer
from tests.support.session import Follower, SessionClient
from tests.support.small_disk import MakeDisk, SmallDisk, small_disk

pytestmark = pytest.mark.embedded(reason="it is about SQLite's file")
SLOW = os.environ.get("ALBEDO_TEST_SLOW") == "1"
UNTIL_GO = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)"


def waiting_call(model_on: MakeModel, server: ServerProcess, workspace: Path) -> Model:
    """A session whose first run is to call a tool that ends when the workspace has a file `go`."""
    replies = [Reply(Call("python", {"code": UNTIL_GO})), Reply(Say("done")), Reply(Say("second"))]
    made = model_on(server, "responses", *replies)
    session = SessionClient.create(server, provider=made.profile, workspace=str(workspace))
    return Model(made.provider, made.profile, session)


def in_the_cell(follower: Follower) -> None:
    follower.until(lambda: bool(follower.of("tool_output")), "the cell")


def blocked_by(follower: Follower, reason: str, times: int = 1) -> None:
    def told() -> bool:
        return [status["blocking_reason"] for status in follower.of("status")].count(reason) >= times

    follower.until(told, f"blocked: {reason}")


def all_well(answers: dict[str, Answer]) -> None:
    assert {name: answer for name, answer in answers.items() if answer.status >= 400} == {}


def all_refused(answers: dict[str, Answer], code: str) -> None:
    """With a time to come back; pages have no code."""
    assert {name: answer for name, answer in answers.items() if not answer.refused} == {}
    assert {answer.code for answer in answers.values()} - {""} == {code}


def nothing_unforeseen(server: ServerProcess) -> None:
    log = server.log.read_text()
    assert [line for line in log.splitlines() if "unforeseen" in line or "Traceback" in line] == []


def integrity(server: ServerProcess) -> str:
    with closing(sqlite3.connect(server.data_dir / "albedo.sqlite3")) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


@contextmanager
def held(server: ServerProcess) -> Iterator[None]:
    """Another program is in the middle of a write."""
    holder = sqlite3.connect(server.data_dir / "albedo.sqlite3", isolation_level=None, timeout=30)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.rollback()
        holder.close()


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, SmallDisk]]:
    """A server whose data and log are on a small disk, and whose runs wait for as long as it takes."""
    settings = {
        "ALBEDO_DATABASE_BUSY_SECONDS": "1",
        "ALBEDO_ACTOR_PATIENCE_SECONDS": "600",
        "ALBEDO_KERNEL_PREWARMED": "0",
    }
    disks = tmp_path_factory.mktemp("disks")
    with small_disk(disks, 16) as disk, ServerProcess(disk.path / "data", **settings) as server:
        yield server, disk


def test_a_database_that_another_program_holds_is_read_and_refuses_writes(
    patient: tuple[ServerProcess, SmallDisk], model_on: MakeModel, tmp_path: Path
) -> None:
    server, _ = patient
    made = waiting_call(model_on, server, tmp_path / "workspace")
    session, doors = made.session, Doors(made.session)
    with session.follow() as follower:
        first = session.ask("run")
        in_the_cell(follower)
        second = session.ask("then")
        with held(server):
            (tmp_path / "workspace" / "go").touch()
            all_well(doors.try_all(doors.readers() | doors.streams()))
            all_refused(doors.try_all(doors.writers()), "unavailable")
            blocked_by(follower, "storage_unavailable")
        follower.until_answered(first["id"])
        follower.until_answered(second["id"])
        assert [data["outcome"] for data in follower.of("turn_completed")] == ["completed", "completed"]
        assert follower.of("status")[-1]["blocking_reason"] is None
        assert len(follower.of("reset")) == 1
    all_well(doors.try_all(doors.writers() | doors.streams()))
    nothing_unforeseen(server)


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="holds a database for half a minute: runs with ALBEDO_TEST_SLOW=1")
def test_half_a_minute_of_lock_costs_the_writes_that_come_early_and_no_others(
    fresh_server: ServerProcess, model_on: MakeModel, tmp_path: Path
) -> None:
    made = waiting_call(model_on, fresh_server, tmp_path / "workspace")
    session, doors = made.session, Doors(made.session)
    with session.follow() as follower:
        accepted = session.ask("run")
        in_the_cell(follower)
        with held(fresh_server):
            released_at = time.monotonic() + 30
            (tmp_path / "workspace" / "go").touch()
            all_well(doors.try_all(doors.readers() | doors.streams()))
            all_refused(doors.try_all(doors.writers()), "unavailable")
            all_well(doors.try_all(doors.readers() | doors.streams()))
            time.sleep(max(released_at - time.monotonic(), 0))
        follower.until_answered(accepted["id"])
        assert [data["outcome"] for data in follower.of("turn_completed")] == ["completed"]
    all_well(doors.try_all(doors.writers()))
    nothing_unforeseen(fresh_server)


def test_a_full_disk_is_read_refuses_writes_and_is_used_again_once_it_has_room(
    patient: tuple[ServerProcess, SmallDisk], model_on: MakeModel, tmp_path: Path
) -> None:
    server, disk = patient
    made = waiting_call(model_on, server, tmp_path / "workspace")
    session, doors = made.session, Doors(made.session)
    with session.follow() as follower:
        first = session.ask("run")
        in_the_cell(follower)
        second = session.ask("then")
        disk.fill()
        (tmp_path / "workspace" / "go").touch()
        all_well(doors.try_all(doors.readers() | doors.streams()))
        all_refused(doors.try_all(doors.writers()), "storage_full")
        assert session.http.get("/api/health").status_code == 503
        blocked_by(follower, "storage_full")
        disk.free()
        follower.until_answered(first["id"])
        follower.until_answered(second["id"])
        assert [data["outcome"] for data in follower.of("turn_completed")] == ["completed", "completed"]
    all_well(doors.try_all(doors.writers() | doors.streams()))
    wait_for(lambda: session.http.get("/api/health").status_code == 200, "health")
    texts = [entry["content"][0].get("text") for entry in session.history() if entry["kind"] == "user"]
    assert texts[:2] == ["run", "then"]
    assert "refused" not in [item["text"] for item in session.get("/inputs")["items"]][:2]
    assert integrity(server) == "ok"


def test_a_run_that_could_not_be_stored_in_time_has_failed_once_there_is_room(
    make_disk: MakeDisk, start_server: StartServer, model_on: MakeModel, tmp_path: Path
) -> None:
    disk = make_disk(12)
    settings = {"ALBEDO_ACTOR_PATIENCE_SECONDS": "0.2", "ALBEDO_KERNEL_PREWARMED": "0"}
    server = start_server(data_dir=disk.path / "data", **settings)
    made = waiting_call(model_on, server, tmp_path / "workspace")
    session = made.session
    with session.follow() as follower:
        first = session.ask("run")
        in_the_cell(follower)
        second = session.ask("then")
        disk.fill()
        (tmp_path / "workspace" / "go").touch()
        # Its call's end is given up, then its own end is tried for as long as it takes.
        blocked_by(follower, "storage_full", times=2)
        disk.free()
        follower.until_answered(first["id"])
        follower.until_answered(second["id"])
        assert [data["outcome"] for data in follower.of("turn_completed")] == ["failed", "completed"]
        assert [(data["code"], data["retryable"]) for data in follower.of("error")] == [
            ("storage_full", True)
        ]
    assert [run["state"] for run in session.get("/runs")["items"]] == ["failed", "completed"]
    assert session.get("/runs")["items"][0]["error"]["code"] == "storage_full"
    (result,) = [entry for entry in session.history() if entry["kind"] == "tool_result"]
    assert result["tool"]["status"] == "interrupted"


def test_no_server_starts_on_a_full_disk_and_it_says_why(
    make_disk: MakeDisk, start_server: StartServer, tmp_path: Path
) -> None:
    disk = make_disk(2)
    # Its log is beside the folder that it was given.
    (tmp_path / "data").symlink_to(disk.path)
    disk.fill()
    with pytest.raises(AssertionError, match=r"DATA_DIR cannot be (used|written)|The storage cannot be used"):
        start_server(data_dir=tmp_path / "data")
