"""Redis is restarted, emptied, cut off, stopped and missing while sessions run and are watched."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import cast

import httpx
import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Say
from tests.support.cluster import Cluster
from tests.support.cut_proxy import CutProxy
from tests.support.layer_trouble import (
    PATIENCE_SECONDS,
    Place,
    SseReader,
    Talker,
    away,
    commanded,
    count_of,
    one_log,
    seen_from,
    session_on,
    standing_still,
    stopped,
)
from tests.support.processes import wait_for
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer, RedisServer, start_redis
from tests.support.session import Follower, SessionClient

Trouble = Callable[[RedisServer], AbstractContextManager[None]]
SSE = {"Accept": "text/event-stream"}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("trouble")
    redis = start_redis(folder)
    url = postgres_server.new_database()
    cluster = Cluster(folder, url, redis.url)
    yield Place(cluster, redis)
    cluster.close()
    redis.stop()
    postgres_server.drop(url)


def goes_on(place: Place, follower: Follower, reader: SseReader) -> None:
    """Both hear ten more pieces of text from now on."""
    seen = count_of("text", follower.events), count_of("text", reader.events)
    wait_for(
        lambda: (
            count_of("text", follower.events) >= seen[0] + 10
            and count_of("text", reader.events) >= seen[1] + 10
        ),
        "both readers hear what is said",
        PATIENCE_SECONDS,
    )


def test_a_redis_in_trouble_costs_no_reader_an_event(place: Place) -> None:
    """Emptied, cut from its subscribers, cut from everybody, restarted, stopped; a reader's process stands
    still: all under one long answer."""
    redis, talker = place.redis, Talker()
    with ScriptedThread(talker) as model:
        session = session_on(place.one, model)
        there = seen_from(place.two, session)
        with session.follow() as follower, SseReader(there) as reader:
            accepted = session.ask("count")
            goes_on(place, follower, reader)
            for command in ("FLUSHALL", "CLIENT KILL TYPE pubsub", "CLIENT KILL TYPE normal"):
                commanded(redis, *command.split())()
                goes_on(place, follower, reader)
            for trouble in (away(redis), stopped(redis), standing_still(place.two.process)):
                with trouble:
                    talker.says_more()
                goes_on(place, follower, reader)
            talker.enough.set()
            follower.until_answered(accepted["id"])
            wait_for(lambda: count_of("turn_completed", reader.events) == 1, "the end", PATIENCE_SECONDS)
            assert one_log(follower.events) == one_log(reader.events) == talker.words
            assert (follower.close_code, reader.ended) == (None, False)
            shown = session.snapshot()
            assert shown["history"]["items"][-1]["content"][0]["text"] == talker.words
            assert {batch["generation"] for batch in follower.batches} == {shown["cursor"]["generation"]}


def state_of(session: SessionClient) -> str:
    return str(session.get("/runs")["items"][-1]["state"])


@pytest.mark.parametrize("trouble", [away, stopped])
def test_without_redis_a_stop_stops_and_an_input_is_answered(place: Place, trouble: Trouble) -> None:
    talker = Talker()
    with ScriptedThread([talker, Reply(Say("answered"))]) as model:
        session = session_on(place.one, model)
        with session.follow() as follower:
            session.ask("count")
            follower.until(lambda: count_of("text", follower.events) > 3, "it counts")
            with trouble(place.redis):
                shown = session.snapshot()
                assert shown["status"]["phase"] == "generating"
                assert session.interrupt(shown)["state"] == "requested"
                wait_for(lambda: state_of(session) == "interrupted", "it is stopped", PATIENCE_SECONDS)
                session.ask("and now")
                wait_for(lambda: state_of(session) == "completed", "it is answered", PATIENCE_SECONDS)
                answers_honestly(place, session)
            follower.until(lambda: len(follower.of("turn_completed")) == 2, "both ends")
            assert follower.close_code is None
            assert follower.of("reset") == [{"reason": "initial"}]


def answers_honestly(place: Place, session: SessionClient) -> None:
    """No stream begins, everybody hears when to come again, and people log in as ever."""
    client = place.two.client()
    unavailable(client.get(session.path, headers=SSE))
    health = client.get("/api/health")
    assert (health.status_code, health.json()) == (200, {"status": "degraded", "faults": ["layer"]})
    assert logged_in(client, "wrong").status_code == 401


def unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] == "unavailable"
    assert int(answer.headers["retry-after"]) > 0


def logged_in(client: httpx.Client, password: str) -> httpx.Response:
    page = client.get("/login/").text
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    form = {"username": "operator", "password": password, "csrfmiddlewaretoken": token}
    return client.post("/login/", data=form)


def test_no_list_of_sessions_begins_without_redis_and_one_that_is_open_is_told_of_the_gap(
    place: Place,
) -> None:
    client = place.one.client()
    with client.stream("GET", "/api/sessions", headers=SSE) as answer:
        heard = list_events(answer)
        assert next(heard) == "ready"
        with away(place.redis):
            unavailable(place.two.client().get("/api/sessions", headers=SSE))
        assert "overflow" in heard
        SessionClient.create(cast(ServerProcess, place.two))
        assert "invalidate" in heard


def list_events(answer: httpx.Response) -> Iterator[str]:
    """The types of events, as they come."""
    for line in answer.iter_lines():
        if line.startswith("data:"):
            yield from (event["type"] for event in json.loads(line[5:])["events"])


def test_processes_that_find_no_redis_serve_what_can_be_served(place: Place) -> None:
    """A host drains without it, others start without it; what was accepted is answered, streams wait."""
    with ScriptedThread([Reply(Say("one")), Reply(Say("two"))]) as model:
        session = session_on(place.one, model)
        with away(place.redis):
            place.host.send_signal(signal.SIGTERM)
            late = seen_from(place.cluster.web(), session)
            place.host = place.cluster.host()
            accepted = late.ask("anybody there")
            wait_for(lambda: answered(late, accepted["id"]), "it is answered", PATIENCE_SECONDS)
            unavailable(late.http.get(late.path, headers=SSE))
        with late.follow() as follower:
            follower.until_answered(late.ask("and now")["id"])
    processes_ended_well(place)


def answered(session: SessionClient, input_id: str) -> bool:
    return bool(session.get(f"/inputs/{input_id}")["outcome"] == "completed")


def processes_ended_well(place: Place) -> None:
    codes = [code for process in place.cluster.processes if (code := process.poll()) is not None]
    assert codes == [0]


def test_hosts_that_go_while_they_are_asked_are_followed_by_others(place: Place) -> None:
    """One stands still, one is cut from Redis between a commit and its publication, and is killed then."""
    talkers = Talker(), Talker()
    with (
        ScriptedThread(talkers[0]) as model,
        ScriptedThread([talkers[1]]) as other_model,
        CutProxy(place.redis.url) as line,
        ExitStack() as stack,
    ):
        first = session_on(place.one, model)
        here = stack.enter_context(seen_from(place.two, first).follow())
        first.ask("count")
        here.until(lambda: count_of("text", here.events) > 3, "the first one counts")
        stack.enter_context(standing_still(place.host))
        doomed = place.cluster.host(REDIS_URL=f"redis://127.0.0.1:{line.port}/0")
        second = session_on(place.one, other_model)
        second.ask("count")
        there = stack.enter_context(seen_from(place.two, second).follow())
        there.until(lambda: count_of("text", there.events) > 3, "the second one counts")
        line.lose("up")
        talkers[1].enough.set()
        wait_for(lambda: len(second.history()) == 2, "the answer is stored", PATIENCE_SECONDS)
        with ThreadPoolExecutor() as threads:
            asked = [threads.submit(asking.http.get, f"{asking.path}/stream") for asking in (first, second)]
            doomed.kill()
            for asking in asked:
                unavailable(asking.result(PATIENCE_SECONDS))
        talkers[0].enough.set()
        place.cluster.host()
        for follower in (here, there):
            follower.until(lambda: {"reason": "generation_changed"} in follower.of("reset"), "a new owner")  # noqa: B023
        told = there.view
        assert told is not None
        assert told["history"]["items"][-1]["content"][0]["text"] == talkers[1].words
        first.page()
    assert state_of(first) == "abandoned"
