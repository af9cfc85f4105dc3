"""Two servers on one database that share no layer, as nobody should run them: nothing is wrong, some wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Say
from tests.acceptance.conftest import define_profile
from tests.support.layer_trouble import SOON, Talker, count_of
from tests.support.postgres import PostgresServer
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def two(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[list[ServerProcess]]:
    url = postgres_server.new_database()
    servers: list[ServerProcess] = []
    for name in ("one", "two"):
        servers.append(ServerProcess(tmp_path / name, DATABASE_URL=url, **SOON).start())
    yield servers
    for server in servers:
        server.close()
    postgres_server.drop(url)


def states(session: SessionClient) -> list[Any]:
    return [run["state"] for run in session.get("/runs")["items"]]


def test_inputs_and_stops_arrive_by_the_database_and_a_stream_begins_where_the_actor_is(
    two: list[ServerProcess],
) -> None:
    owner, other = two
    talker = Talker()
    with ScriptedThread([talker, Reply(Say("two")), Reply(Say("three"))]) as model:
        profile = define_profile(owner, model.base_url, "chat_completions")
        session = SessionClient.create(owner, provider=profile)
        elsewhere = SessionClient(other, session.id)
        with session.follow() as follower:
            elsewhere.ask("count")
            follower.until(lambda: count_of("text", follower.events) > 3, "it is heard where it is done")
            answer = elsewhere.http.get(f"{session.path}/stream")
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert elsewhere.interrupt()["state"] == "requested"
            follower.until(lambda: len(follower.of("turn_completed")) == 1, "the stop arrives")
            elsewhere.ask("and now")
            follower.until(lambda: len(follower.of("turn_completed")) == 2, "the answer")
        assert states(elsewhere) == states(session) == ["interrupted", "completed"]
        assert len(elsewhere.history()) == len(session.history())
        owner.terminate()
        elsewhere.answer("is anybody left")
    assert states(elsewhere) == ["interrupted", "completed", "completed"]
