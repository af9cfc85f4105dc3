"""A PostgreSQL that crashes, has no connection left, is locked, read-only, or cut off in mid-commit."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import pytest
from uuid_utils.compat import uuid7

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Say
from tests.acceptance.conftest import define_profile
from tests.acceptance.test_storage_trouble import SLOW, all_refused, all_well
from tests.support.cluster import Web
from tests.support.doors import Answer, Doors
from tests.support.own_postgres import postgres_cluster
from tests.support.postgres_rig import DATABASE, Line, PostgresRig, postgres_rig
from tests.support.processes import wait_for
from tests.support.server import ServerProcess
from tests.support.session import SessionClient
from tests.support.small_disk import MakeDisk

pytestmark = pytest.mark.timeout(1_200 if SLOW else 300)
# A lock or a missing connection is given up before a test has to wait for long.
SETTINGS = {
    "ALBEDO_DATABASE_BUSY_SECONDS": "1",
    "ALBEDO_DATABASE_STATEMENT_SECONDS": "2",
    "ALBEDO_KERNEL_PREWARMED": "0",
}
REPLIES = 20_000
CRASHES = 20 if SLOW else 2
ACCEPTED_BETWEEN = 5


@dataclass(frozen=True, slots=True)
class Stage:
    """`profile` is a model that answers every input with a word."""

    rig: PostgresRig
    web: Web
    line: Line
    profile: str

    def session(self) -> SessionClient:
        return self.rig.session(self.web, provider=self.profile)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Stage]:
    """One web process behind a line, one host. Every test leaves the database as it was."""
    folder = tmp_path_factory.mktemp("rig")
    with (
        ScriptedThread([Reply(Say("yes"))] * REPLIES) as model,
        postgres_cluster() as postgres,
        postgres_rig(folder, postgres, redis_url) as rig,
    ):
        line, other = rig.line(), rig.line()
        web = rig.web(line, **SETTINGS)
        rig.host(other, **SETTINGS)
        profile = define_profile(cast(ServerProcess, web), model.base_url, "responses")
        yield Stage(rig, web, line, profile)


@pytest.fixture
def session(stage: Stage) -> SessionClient:
    return stage.session()


def opens(doors: Doors, tried: dict[str, Callable[[], Answer]]) -> None:
    wait_for(lambda: all(answer.status < 400 for answer in doors.try_all(tried).values()), "every door opens")


def well_again(doors: Doors) -> None:
    opens(doors, doors.readers() | doors.writers() | doors.streams())


class Load(threading.Thread):
    """Puts one input after the other, each until it is accepted; remembers what it was told."""

    def __init__(self, session: SessionClient) -> None:
        super().__init__(daemon=True)
        self._session = session
        self._over = threading.Event()
        self.accepted: list[str] = []
        self.statuses: list[int] = []

    def run(self) -> None:
        while not self._over.is_set():
            uid = str(uuid7())
            while self._put(uid) != 202 and not self._over.wait(0.05):
                pass

    def end(self) -> None:
        self._over.set()
        self.join(60)

    def _put(self, uid: str) -> int:
        path = f"{self._session.path}/inputs/{uid}"
        status = self._session.http.put(path, json={"text": uid}).status_code
        self.statuses.append(status)
        if status == 202:
            self.accepted.append(uid)
        return status


def test_crashes_under_load_cost_no_accepted_input_and_leave_no_session_behind(stage: Stage) -> None:
    sessions = [stage.session() for _ in range(3)]
    doors = Doors(sessions[0])
    loads = [Load(session) for session in sessions]
    for load in loads:
        load.start()
    seen: list[Answer] = []
    for _ in range(CRASHES):
        before = [len(load.accepted) for load in loads]
        wait_for(
            lambda before=before: all(  # type: ignore[misc]
                len(load.accepted) >= count + ACCEPTED_BETWEEN
                for load, count in zip(loads, before, strict=True)
            ),
            "accepted inputs",
            60,
        )
        stage.rig.postgres.crash()
        seen += doors.try_all(doors.readers() | doors.streams()).values()
        stage.rig.postgres.start()
    well_again(doors)
    for load in loads:
        load.end()
    assert {status for load in loads for status in load.statuses} <= {202, 429, 503}
    assert {answer.status for answer in seen} <= {101, 200, 302, 503}
    for session, load in zip(sessions, loads, strict=True):
        session.settled()
        entries = session.history()
        assert [entry["position"] for entry in entries] == list(range(1, len(entries) + 1))
        asked = [entry["content"][0]["text"] for entry in entries if entry["kind"] == "user"]
        assert [uid for uid in asked if uid in load.accepted] == load.accepted
        assert len(set(asked)) == len(asked)
        assert {run["state"] for run in session.get("/runs")["items"]} <= {"completed", "failed", "abandoned"}


def test_a_database_that_is_gone_for_a_while_refuses_at_every_door_and_is_used_again(
    stage: Stage, session: SessionClient
) -> None:
    doors = Doors(session)
    stage.rig.postgres.stop()
    try:
        answers = doors.try_all(doors.readers() | doors.writers() | doors.streams())
        all_refused(answers, "unavailable")
        assert session.http.get("/api/health").status_code == 503
    finally:
        stage.rig.postgres.start()
    well_again(doors)
    assert session.answer("and again")


def test_a_database_that_says_nothing_refuses_at_every_door_and_is_used_again(
    stage: Stage, session: SessionClient
) -> None:
    doors = Doors(session)
    stage.line.lose()
    try:
        all_refused(doors.try_all(doors.readers() | doors.writers() | doors.streams()), "unavailable")
    finally:
        stage.line.mend()
    well_again(doors)


def test_a_database_without_a_free_connection_refuses_and_is_used_again(
    stage: Stage, session: SessionClient
) -> None:
    doors = Doors(session)
    stage.rig.postgres.run("ALTER ROLE app CONNECTION LIMIT 0")
    stage.rig.postgres.kill_sessions()
    try:
        all_refused(doors.try_all(doors.readers() | doors.writers()), "unavailable")
        # Nothing piles up: the next ones are answered as soon.
        all_refused(doors.try_all(doors.readers() | doors.writers()), "unavailable")
    finally:
        stage.rig.postgres.run("ALTER ROLE app CONNECTION LIMIT -1")
    well_again(doors)


def test_a_lock_that_lasts_refuses_and_is_outlived(stage: Stage, session: SessionClient) -> None:
    doors = Doors(session)
    with closing(stage.rig.postgres.connect(DATABASE)) as holder:
        holder.execute("LOCK TABLE sessions_app_session IN ACCESS EXCLUSIVE MODE")
        tried = {**doors.readers(), **doors.writers(), **doors.streams()}
        without = ("providers", "token", "login")
        all_refused(
            doors.try_all({name: door for name, door in tried.items() if name not in without}), "unavailable"
        )
        all_well(doors.try_all({name: tried[name] for name in without}))
    well_again(doors)


def test_a_database_that_turns_read_only_is_read_and_recovers_by_itself(
    stage: Stage, session: SessionClient
) -> None:
    doors = Doors(session)
    session.answer("awake")
    stage.rig.postgres.run("ALTER ROLE app SET default_transaction_read_only = on")
    stage.rig.postgres.kill_sessions()
    try:
        # A killed connection may cost its request the time that it has to get another one.
        opens(doors, doors.readers())
        all_refused(doors.try_all(doors.writers()), "unavailable")
        wait_for(lambda: session.http.get("/api/health").status_code == 503, "health")
    finally:
        stage.rig.postgres.run("ALTER ROLE app RESET default_transaction_read_only")
    # The connections that are open stay read-only: they have to be let go of.
    well_again(doors)


def long_text() -> str:
    """One that no database makes shorter."""
    return secrets.token_hex(150_000)


def test_a_full_disk_below_the_database_is_told_as_such(
    make_disk: MakeDisk, stage: Stage, session: SessionClient
) -> None:
    postgres = stage.rig.postgres
    disk = make_disk(8, postgres.folder)
    postgres.make_tablespace(disk.path)
    with postgres.connect(DATABASE) as connection:
        connection.execute("ALTER TABLE sessions_app_input SET TABLESPACE small")
    uid, body = str(uuid7()), {"text": long_text()}
    disk.fill()
    refused = session.http.put(f"{session.path}/inputs/{uid}", json=body)
    assert (refused.status_code, refused.json()["code"]) == (503, "storage_full")
    assert refused.headers["Retry-After"].isdigit()
    disk.free()
    assert session.http.put(f"{session.path}/inputs/{uid}", json=body).status_code == 202
    session.settled()
    with postgres.connect(DATABASE) as connection:
        connection.execute("ALTER TABLE sessions_app_input SET TABLESPACE pg_default")
    postgres.run("DROP TABLESPACE small")


def texts(session: SessionClient) -> list[str]:
    return [item["text"] for item in session.get("/inputs")["items"]]


def commits(data: bytes) -> bool:
    return b"COMMIT\x00" in data


def test_a_commit_whose_answer_is_lost_is_found_by_its_key(stage: Stage, session: SessionClient) -> None:
    uid = str(uuid7())
    # The first use of a token is noted in a commit of its own.
    session.http.get(session.path)
    happened = stage.line.cut_at("down", commits)
    answer = session.http.put(f"{session.path}/inputs/{uid}", json={"text": "once"})
    assert happened.is_set()
    assert answer.status_code == 202
    assert answer.json()["id"] == uid
    assert texts(session) == ["once"]
    session.settled()
    happened = stage.line.cut_at("down", commits)
    posted = session.http.post(f"{session.path}/inputs", json={"text": "posted"})
    assert happened.is_set()
    assert posted.status_code == 202
    assert texts(session) == ["once", "posted"]


def test_a_commit_that_nobody_can_ask_about_is_settled_by_the_same_request(
    stage: Stage, session: SessionClient
) -> None:
    uid = str(uuid7())
    session.http.get(session.path)

    def commits_and_all_is_cut(data: bytes) -> bool:
        if not commits(data):
            return False
        threading.Thread(target=stage.line.cut).start()
        return True

    happened = stage.line.cut_at("down", commits_and_all_is_cut)
    try:
        answer = session.http.put(f"{session.path}/inputs/{uid}", json={"text": "once"})
        assert happened.is_set()
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["Retry-After"].isdigit()
    finally:
        stage.line.mend()
    wait_for(
        lambda: session.http.put(f"{session.path}/inputs/{uid}", json={"text": "once"}).status_code == 202,
        "the same request",
    )
    assert texts(session) == ["once"]
