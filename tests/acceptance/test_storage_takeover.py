"""A host whose database is silent lets go of its sessions; a replica that lacks the end is told of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, Script, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import define_profile
from tests.support.cluster import Web
from tests.support.own_postgres import OwnPostgres, postgres_cluster, postgres_folder
from tests.support.postgres_rig import DATABASE, Line, PostgresRig, postgres_rig
from tests.support.processes import end, wait_for
from tests.support.raw_model import RawModel
from tests.support.server import ServerProcess
from tests.support.session import Follower, SessionClient

pytestmark = pytest.mark.timeout(300)
# A lease is over long after its owner has given up, also where the machine is busy.
SETTINGS = {
    "ALBEDO_DATABASE_BUSY_SECONDS": "2",
    "ALBEDO_ACTOR_LEASE_SECONDS": "8",
    "ALBEDO_ACTOR_RENEW_SECONDS": "1",
    "ALBEDO_ACTOR_SELF_FENCE_SECONDS": "3",
    "ALBEDO_ACTOR_SWEEP_SECONDS": "0.5",
    "ALBEDO_KERNEL_PREWARMED": "0",
}
SLEEPER = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"


@dataclass(slots=True)
class Stage:
    rig: PostgresRig
    web: Web
    web_line: Line

    def session(self, model: ScriptedThread) -> SessionClient:
        profile = define_profile(cast(ServerProcess, self.web), model.base_url, "responses")
        return self.rig.session(self.web, provider=profile)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Stage]:
    """One web process; hosts are a test's own."""
    folder = tmp_path_factory.mktemp("rig")
    with postgres_cluster() as postgres, postgres_rig(folder, postgres, redis_url) as rig:
        line = rig.line()
        yield Stage(rig, rig.web(line, **SETTINGS), line)


def generating(held: Barrier) -> Script:
    async def script(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, request.protocol)
        await raw.begin()
        await raw.text("half of it")
        await out.pause(held)

    return script


def one_event_each(follower: Follower) -> None:
    """Whatever was read twice under one generation and sequence is one event."""
    seen: dict[tuple[str, int], str] = {}
    for batch in follower.batches:
        for event in batch["events"]:
            if event["type"] != "reset":
                told = json.dumps(event, sort_keys=True)
                assert seen.setdefault((batch["generation"], event["sequence"]), told) == told


def in_order(follower: Follower) -> None:
    """A generation that was followed by another says nothing more."""
    generations = list(dict.fromkeys(batch["generation"] for batch in follower.batches))
    order = [generations.index(batch["generation"]) for batch in follower.batches]
    assert order == sorted(order)


def test_a_host_that_hears_nothing_of_its_database_lets_go_before_another_takes_over(stage: Stage) -> None:
    rig, held = stage.rig, Barrier()
    line, other = rig.line(), rig.line()
    first = rig.host(line, **SETTINGS)
    calls = [Reply(Call("python", {"code": SLEEPER})), Reply(Say("next")), Reply(Say("third"))]
    with ScriptedThread(calls) as caller, ScriptedThread([generating(held), Reply(Say("over"))]) as talker:
        running, speaking = stage.session(caller), stage.session(talker)
        with running.follow() as runs, speaking.follow() as speaks:
            running.ask("run")
            runs.until(lambda: bool(runs.of("tool_output")), "the cell")
            pid = int(runs.of("tool_output")[0]["text"])
            speaking.ask("speak")
            speaks.until(lambda: bool(speaks.of("text")), "text")
            line.lose()
            second = rig.host(other, **SETTINGS)
            assert talker.requests[0].closed.wait_in_thread(60)
            wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of the kernel", 60)
            for follower in (runs, speaks):
                follower.until(lambda: bool(follower.of("reset")[1:]), "the other host")  # noqa: B023
                assert follower.of("reset")[1] == {"reason": "generation_changed"}
            accepted = running.ask("go on")
            runs.until_answered(accepted["id"])
            line.mend()
            # Its lines are whole again: what the first host had is another's, and it takes up new work.
            end(second)
            accepted = running.ask("and again")
            runs.until_answered(accepted["id"])
            in_order(runs)
            one_event_each(runs)
    assert [run["state"] for run in running.get("/runs")["items"]] == ["abandoned", "completed", "completed"]
    assert [run["state"] for run in speaking.get("/runs")["items"]] == ["abandoned"]
    (lost,) = [entry for entry in running.history() if entry["kind"] == "tool_result"]
    assert lost["tool"]["status"] == "lost"
    assert rig.cluster.logs().count("no renewal in time, its actor stops") == 2
    end(first)


@pytest.fixture
def standby(stage: Stage) -> Iterator[tuple[OwnPostgres, Line]]:
    """A replica that follows the stage's server, and the line that it follows it by."""
    line = stage.rig.line()
    with postgres_folder() as folder:
        made = OwnPostgres(folder)
        made.copy_from(stage.rig.postgres, line.port)
        made.start()
        try:
            yield made, line
        finally:
            made.crash()


def rows(postgres: OwnPostgres, session: SessionClient) -> Any:
    with postgres.connect(DATABASE) as connection:
        query = "SELECT head_position, generation FROM sessions_app_session WHERE id = %s"
        return connection.execute(query, [session.id]).fetchone()


def test_a_replica_that_lacks_the_end_is_told_as_a_new_generation(
    stage: Stage, standby: tuple[OwnPostgres, Line]
) -> None:
    rig, (replica, replication) = stage.rig, standby
    line = rig.line()
    rig.host(line, **SETTINGS)
    with ScriptedThread([Reply(Say(text)) for text in ("one", "two", "three")]) as model:
        session = stage.session(model)
        with session.follow() as follower:
            kept = session.ask("kept")
            follower.until_answered(kept["id"])
            wait_for(lambda: rows(replica, session) == rows(rig.postgres, session), "the replica follows")
            replication.cut()
            lost = session.ask("lost")
            follower.until_answered(lost["id"])
            generation = follower.cursor[0]
            assert len(session.history()) == 4
            rig.postgres.crash()
            replica.promote()
            for each in (line, stage.web_line):
                each.lead_to(replica.url)
            follower.until(lambda: bool(follower.of("reset")[1:]), "a new generation")
            assert follower.of("reset")[1] == {"reason": "generation_changed"}
            assert follower.cursor[0] != generation
            third = session.ask("after")
            follower.until_answered(third["id"])
            one_event_each(follower)
            in_order(follower)
            shown = follower.view
    texts = [entry["content"][0]["text"] for entry in session.history()]
    assert texts == ["kept", "one", "after", "three"]
    assert shown is not None
    assert [entry["content"][0]["text"] for entry in shown["history"]["items"]] == texts
    assert session.http.get(f"{session.path}/inputs/{lost['id']}").status_code == 404
