"""Several web processes and actor hosts on PostgreSQL and Redis: one log, one actor, no session stuck."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import define_profile
from tests.support.cluster import Cluster, Web
from tests.support.fold import comparable
from tests.support.processes import end
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer
from tests.support.session import SessionClient

StartHost = Callable[[], subprocess.Popen[bytes]]
SLEEPER = "open('started', 'a').write('x')\nprint('begun', flush=True)\nimport time\ntime.sleep(1000)"


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_url: str
) -> Iterator[Cluster]:
    """One for all tests, each of which has hosts of its own."""
    url = postgres_server.new_database()
    made = Cluster(tmp_path_factory.mktemp("cluster"), url, redis_url)
    yield made
    made.close()
    postgres_server.drop(url)


@pytest.fixture(scope="module")
def web(cluster: Cluster) -> Web:
    return cluster.web()


@pytest.fixture
def host(cluster: Cluster) -> Iterator[StartHost]:
    """`host()` starts one more."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(cluster.host())
        return started[-1]

    yield start
    for process in started:
        # One that a test stopped must go on to be ended.
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
        end(process)


def session_on(web: Web, provider: ScriptedThread) -> SessionClient:
    server = cast(ServerProcess, web)
    profile = define_profile(server, provider.base_url, "responses")
    return SessionClient.create(server, provider=profile)


def seen_from(web: Web, session: SessionClient) -> SessionClient:
    return SessionClient(cast(ServerProcess, web), session.id)


def test_readers_of_two_web_processes_see_one_log(cluster: Cluster, web: Web, host: StartHost) -> None:
    one, two = web, cluster.web()
    host()
    call = Call("python", {"code": "6 * 7"}, fragments=2)
    replies = [Reply(Say("I will. ", 3), call), Reply(Say("42")), Reply(Say("42 again"))]
    with ScriptedThread(replies) as provider:
        here = session_on(one, provider)
        there = seen_from(two, here)
        with here.follow() as first, there.follow() as second:
            accepted = here.ask("compute")
            first.until_answered(accepted["id"])
            second.until_answered(accepted["id"])
            events = [event for event in first.events if event["type"] != "reset"]
            others = [event for event in second.events if event["type"] != "reset"]
            known = others[0]["sequence"]
            assert others == events[known - 1 :]
            assert comparable(second.view) == comparable(there.snapshot())
        with there.follow() as follower:
            there.ask("again")
            follower.until(lambda: bool(follower.of("turn_completed")), "an end")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_host_that_is_gone_is_followed_by_another_and_its_call_is_lost(
    web: Web, host: StartHost, how: signal.Signals
) -> None:
    first = host()
    call = Call("python", {"code": SLEEPER}, id="call_a")
    replies = [Reply(call), Reply(Say("next")), Reply(Say("again"))]
    with ScriptedThread(replies) as provider:
        session = session_on(web, provider)
        with session.follow() as follower:
            session.ask("run")
            follower.until(lambda: bool(follower.of("tool_output")), "the cell")
            waiting = session.ask("go on")
            host()
            first.send_signal(how)
            follower.until_answered(waiting["id"])
            assert {"reason": "generation_changed"} in follower.of("reset")
        if how is signal.SIGSTOP:
            before = session.snapshot()
            first.send_signal(signal.SIGCONT)
            session.answer("and again")
            assert session.history()[-1]["content"] == [{"kind": "text", "text": "again"}]
            assert session.snapshot()["cursor"]["generation"] == before["cursor"]["generation"]
        entries = session.history()
        assert [entry["kind"] for entry in entries[:5]] == [
            "user",
            "tool_call",
            "tool_result",
            "user",
            "assistant",
        ]
        assert entries[2]["tool"]["status"] == "lost"
        assert session.get("/runs")["items"][0]["state"] == "abandoned"
        assert (Path(session.snapshot()["workspace"]) / "started").read_text() == "x"
        assert json.dumps(provider.requests[1].body).count("call_a") == 2


def test_a_host_that_drains_gives_its_sessions_to_the_next_one(web: Web, host: StartHost) -> None:
    first = host()
    with ScriptedThread([Reply(Say("one")), Reply(Say("two"))]) as provider:
        session = session_on(web, provider)
        session.answer("first")
        with session.follow() as follower:
            first.send_signal(signal.SIGTERM)
            assert first.wait(60) == 0
            host()
            accepted = session.ask("second")
            follower.until_answered(accepted["id"])
    assert [run["state"] for run in session.get("/runs")["items"]] == ["completed", "completed"]
