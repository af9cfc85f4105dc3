from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent

from tests.integration.delivery.conftest import Served

Messages = Iterator[ServerSentEvent]


@contextmanager
def events(
    served: Served, path: str | None = None, headers: dict[str, str] | None = None, **params: Any
) -> Iterator[tuple[httpx.Response, Messages]]:
    asked = {**(served.bearer() if headers is None else headers), "Accept": "text/event-stream"}
    address = path or f"/api/sessions/{served.session()}"
    with served.http.stream("GET", address, headers=asked, params=params) as response:
        yield response, EventSource(response).iter_sse()


def envelope(message: ServerSentEvent) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(message.data)
    return decoded


def test_each_batch_is_one_message_whose_id_is_its_cursor(served: Served) -> None:
    with events(served) as (response, messages):
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-accel-buffering"] == "no"
        first = next(messages)
        page = envelope(first)
        assert first.id == f"{page['generation']}:{page['cursor']}"
        assert page["snapshot"]["id"] == served.session()
        served.control("publish", session=served.session(), words=["a\nb"])
        second = next(messages)
        while not envelope(second)["events"]:
            second = next(messages)
    assert envelope(second)["events"][0]["data"]["text"] == "a\nb"
    assert second.id == f"{page['generation']}:{page['cursor'] + 1}"


def test_last_event_id_resumes_and_the_query_wins(served: Served) -> None:
    session = served.session()
    with events(served) as (_, messages):
        page = envelope(next(messages))
    served.control("publish", session=session, words=["one", "two"])
    at = {**served.bearer(), "Last-Event-ID": f"{page['generation']}:{page['cursor'] + 1}"}
    with events(served, headers=at) as (_, messages):
        resumed = envelope(next(messages))
    assert [event["data"]["text"] for event in resumed["events"]] == ["two"]
    assert resumed["attach"]["verdict"] == "replay"
    query = {"after_generation": page["generation"], "after_seq": page["cursor"] + 2}
    with events(served, headers=at, **query) as (_, messages):
        assert envelope(next(messages))["attach"]["verdict"] == "up_to_date"


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({}, {}, 401),
        ({"Authorization": "Bearer wrong"}, {}, 401),
        (None, {"token": "x"}, 400),
        (None, {"after_seq": "1"}, 400),
        ({"Last-Event-ID": "1-a"}, {}, 400),
        ({"Last-Event-ID": "1-a:x"}, {}, 400),
    ],
)
def test_a_problem_comes_before_the_stream(
    served: Served, headers: dict[str, str] | None, query: dict[str, str], status: int
) -> None:
    given = {**served.bearer(), **(headers or {})} if headers != {} else {}
    with events(served, headers=given, **query) as (response, _):
        response.read()
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status


def test_somebody_elses_session_is_unknown_with_their_last_event_id_too(served: Served) -> None:
    with events(served) as (_, messages):
        identity = next(messages).id
    given = {**served.bearer("bob"), "Last-Event-ID": identity}
    with events(served, headers=given) as (response, _):
        response.read()
    assert response.status_code == 404


def test_a_cookie_with_a_foreign_origin_is_refused(served: Served) -> None:
    with events(served, headers=served.cookie(origin="http://127.0.0.1:9999")) as (response, _):
        response.read()
    assert response.status_code == 403
    with events(served, headers=served.cookie()) as (response, messages):
        assert response.status_code == 200
        next(messages)


def test_a_revoked_token_ends_the_stream(served: Served) -> None:
    with events(served) as (_, messages):
        next(messages)
        served.control("revoke", user=served.facts["alice"]["name"])
        for _message in messages:
            pass


def test_a_client_that_leaves_is_let_go(served: Served) -> None:
    from tests.support.processes import wait_for

    session = served.session("bob")
    with events(served, f"/api/sessions/{session}", served.bearer("bob")) as (_, messages):
        next(messages)
        wait_for(lambda: served.control("inspect", session=session)["watchers"] == 1, "one watches")
    wait_for(lambda: served.control("inspect", session=session)["watchers"] == 0, "nobody watches")


def test_the_list_says_ready_and_then_what_changed(served: Served) -> None:
    with events(served, "/api/sessions") as (_, messages):
        assert envelope(next(messages)) == {"events": [{"type": "ready"}]}
        served.control("announce", session=served.session(), owner=served.facts["alice"]["id"])
        message = envelope(next(messages))
        while not message["events"]:
            message = envelope(next(messages))
    assert message == {"events": [{"type": "invalidate", "session_id": served.session()}]}


def test_other_requests_for_the_same_address_are_not_streams(served: Served) -> None:
    assert served.http.get("/api/sessions").headers["content-type"] != "text/event-stream"
