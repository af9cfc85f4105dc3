"""Redis is restarted, emptied, cut off, stopped and missing while sessions run and are watched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import cast

import httpx
import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Say
from tests.support.cluster import Cluster
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
    """Both hear twenty more pieces of text from now on."""
    seen = count_of("text", follower.events), count_of("text", reader.events)
    wait_for(
        lambda: (
            count_of("text", follower.events) >= seen[0] + 20
            and count_of("text", reader.events) >= seen[1] + 20
        ),
        "both readers hear what is said",
        PATIENCE_SECONDS,
    )


def test_a_redis_in_trouble_costs_no_reader_an_event(place: Place) -> None:
    """Emptied, cut from its subscribers, cut from everybody, restarted, stopped: each under a long answer."""
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
            for trouble in (away, stopped):
                said = talker.said
                with trouble(redis):
                    wait_for(lambda said=said: talker.said > said + 100, "it goes on", PATIENCE_SECONDS)
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
    for headers, path in (({}, f"{session.path}/stream"), (SSE, session.path)):
        unavailable(client.get(path, headers=headers))
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
