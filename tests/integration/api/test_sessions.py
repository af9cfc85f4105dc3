"""Sessions over HTTP: made once, listed in order, changed, removed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from sessions_app.api.sessions import SessionChange
from sessions_app.models import Input, Run, Session
from sessions_app.store.executor import read, write
from tests.integration.api.callers import Caller, RecordedLive, fresh, problem, told

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_new_session_is_idle_and_has_a_private_folder_of_its_own(
    alice: Caller, own_data: Path
) -> None:
    session = await alice.make_session(name="first")
    folder = Path(session["workspace"])
    assert folder == own_data.resolve() / "workspaces" / session["id"]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert session["status"] == {
        "phase": "idle",
        "run_id": None,
        "interrupt_requested": False,
        "blocking_reason": None,
    }
    assert session["cursor"] == {"generation": "0-0", "sequence": 0}
    assert session["usage"]["input_tokens"] is None
    assert session["history"] == {"items": [], "older": None, "high_water": 0}


async def test_the_same_put_twenty_times_at_once_makes_one_session(alice: Caller) -> None:
    path = f"/api/sessions/{fresh()}"
    answers = await asyncio.gather(*(alice.send("PUT", path, {"name": "x"}) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len({told(answer)["created_at"] for answer in answers}) == 1
    problem(await alice.send("PUT", path, {"name": "y"}), 409, "session_conflict")


async def test_an_absent_body_is_an_empty_one_and_key_order_does_not_matter(alice: Caller) -> None:
    path = f"/api/sessions/{fresh()}"
    assert (await alice.send("PUT", path)).status_code == 201
    assert (await alice.send("PUT", path, {"model": "", "name": ""})).status_code == 200


@pytest.mark.parametrize("name", ["x", "018f4e2e", "6f1ed002-ab5f-4d2a-9c1b-6f1ed002ab5f"])
async def test_an_id_that_is_no_uuid7_is_refused(alice: Caller, name: str) -> None:
    problem(await alice.send("PUT", f"/api/sessions/{name}", {}), 400, "invalid_request")


async def test_another_users_id_is_not_found_by_put(alice: Caller, bob: Caller) -> None:
    session = await alice.make_session()
    problem(await bob.send("PUT", f"/api/sessions/{session['id']}", {}), 404, "not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"owner": 1},
        {"generation": 99},
        {"status": "idle"},
        {"base_url": "http://sink"},
        {"name": 5},
        {"provider": "no"},
    ],
)
async def test_what_is_not_a_clients_to_set_is_refused(alice: Caller, body: dict[str, Any]) -> None:
    found = problem(await alice.send("POST", "/api/sessions", body), 400, "invalid_request")
    assert found["fields"] == [f"/{next(iter(body))}"]
    assert await read(Session.objects.count) == 0


async def test_lists_page_through_every_session_once_latest_first(alice: Caller, bob: Caller) -> None:
    made = [(await alice.make_session(name=f"s{number}"))["id"] for number in range(7)]
    await bob.make_session()
    seen: list[str] = []
    path = "/api/sessions?limit=3"
    while path:
        page = told(await alice.get(path))
        seen += [item["id"] for item in page["items"]]
        path = f"/api/sessions?limit=3&next={page['next']}" if page["next"] else ""
    assert seen == made[::-1]


async def test_a_list_finds_by_name_by_archive_and_by_status(alice: Caller) -> None:
    one, two = await alice.make_session(name="Blue fish"), await alice.make_session(name="red")
    await alice.send("PATCH", f"/api/sessions/{two['id']}", {"archived": True})
    await alice.send("POST", f"/api/sessions/{one['id']}/inputs", {"text": "hello"})

    async def found(query: str) -> list[str]:
        return [item["id"] for item in told(await alice.get(f"/api/sessions?{query}"))["items"]]

    assert await found("search=FISH") == [one["id"]]
    assert await found("search=%25") == []
    assert await found("archived=true") == [two["id"]]
    assert await found("status=idle") == [two["id"]]
    assert await found("status=busy") == [one["id"]]
    assert await found("status=running") == []


async def test_a_list_is_one_query_whatever_its_length(alice: Caller) -> None:
    from sessions_app.api import sessions as resource

    for _ in range(4):
        await alice.make_session()

    def count(limit: int) -> int:
        from django.db import connection

        with CaptureQueriesContext(connection) as queries:
            resource._list(alice.user, resource.SessionQuery.model_validate({"limit": limit}))
        return len(queries)

    assert await read(count, 1) == await read(count, 4) == 1


async def test_a_token_of_another_list_is_refused(alice: Caller, bob: Caller) -> None:
    for caller in (alice, alice, bob, bob):
        await caller.make_session()
    token = told(await alice.get("/api/sessions?limit=1"))["next"]
    for query in (f"next={token}&search=a", f"next={token}x", "next=x", "next=", "next=%F0%9F%90%9F"):
        found = problem(await alice.get(f"/api/sessions?{query}"), 400, "invalid_request")
        assert found["fields"] == ["/next"]
    problem(await bob.get(f"/api/sessions?next={token}"), 400, "invalid_request")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=-1", "limit=1_0", "limit=٣", "limit=", "limit=1.0"]
)
async def test_a_limit_is_a_plain_number_within_its_bounds(alice: Caller, query: str) -> None:
    found = problem(await alice.get(f"/api/sessions?{query}"), 400, "invalid_request")
    assert found["fields"] == ["/limit"]


@pytest.mark.parametrize(
    "query",
    [
        "owner__password__startswith=p",
        "order_by=owner",
        "fields=id",
        "limit=1&limit=2",
        "token=x",
        "search=%00",
    ],
)
async def test_unknown_and_repeated_query_parameters_are_refused(alice: Caller, query: str) -> None:
    problem(await alice.get(f"/api/sessions?{query}"), 400, "invalid_request")


async def test_a_patch_changes_what_it_names(alice: Caller, live: RecordedLive) -> None:
    session = await alice.make_session(name="old", instructions="be brief")
    changed = told(await alice.send("PATCH", f"/api/sessions/{session['id']}", {"name": "new"}))
    assert (changed["name"], changed["instructions"]) == ("new", "be brief")
    assert live.named("announce")[-1][3] == "invalidate"


@pytest.mark.parametrize("field", sorted(SessionChange.model_fields))
async def test_null_is_no_change_to_a_session(alice: Caller, field: str) -> None:
    session = await alice.make_session(name="kept")
    refused = problem(
        await alice.send("PATCH", f"/api/sessions/{session['id']}", {field: None}), 400, "invalid_request"
    )
    assert refused["fields"] == [f"/{field}"]
    document = SessionChange.model_json_schema()["properties"][field]
    assert "null" not in str(document)
    assert "default" not in document


async def test_an_idle_session_is_removed_with_its_folder_and_its_actor(
    alice: Caller, live: RecordedLive
) -> None:
    session = await alice.make_session()
    path = f"/api/sessions/{session['id']}"
    assert (await alice.send("DELETE", path)).status_code == 204
    assert [str(call[1]) for call in live.named("stop")] == [session["id"]]
    assert not Path(session["workspace"]).exists()
    problem(await alice.get(path), 404, "not_found")


async def test_a_busy_session_is_removed_only_by_force(alice: Caller, live: RecordedLive) -> None:
    session = await alice.make_session()
    path = f"/api/sessions/{session['id']}"
    await alice.send("POST", f"{path}/inputs", {"text": "go"})
    problem(await alice.send("DELETE", path), 409, "session_busy")
    assert live.named("stop") == []
    assert (await alice.send("DELETE", f"{path}?force=true")).status_code == 204
    assert await read(Input.objects.count) == await read(Run.objects.count) == 0


async def test_a_live_half_that_is_away_fails_no_request(alice: Caller, live: RecordedLive) -> None:
    session = await alice.make_session()
    live.failing = True
    answer = await alice.send("POST", f"/api/sessions/{session['id']}/inputs", {"text": "kept"})
    assert answer.status_code == 202
    assert await read(Input.objects.count) == 1


async def test_a_snapshot_without_an_actor_says_what_waits(alice: Caller) -> None:
    session = await alice.make_session()
    await alice.send("POST", f"/api/sessions/{session['id']}/inputs", {"text": "x" * 2_000})
    shown = told(await alice.get(f"/api/sessions/{session['id']}?tail=0"))
    assert shown["status"]["phase"] == "preparing"
    assert shown["input_order"] == 1
    assert len(shown["pending_inputs"][0]["text"]) == 500
    assert shown["pending_inputs"][0]["text_complete"] is False


async def test_a_locked_database_is_told_as_503_with_a_time_to_retry(alice: Caller, monkeypatch: Any) -> None:
    from django.db import OperationalError

    from sessions_app.store import sessions as store

    cause = sqlite3.OperationalError("database is locked: /secret/place")
    cause.sqlite_errorcode = sqlite3.SQLITE_BUSY

    def locked(*_: Any) -> None:
        raise OperationalError(*cause.args) from cause

    monkeypatch.setattr(store, "create_session", locked)
    answer = await alice.send("POST", "/api/sessions", {})
    problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0
    assert b"secret" not in answer.content


async def test_what_nobody_foresaw_is_500_without_its_words(alice: Caller, monkeypatch: Any) -> None:
    from sessions_app.store import sessions as store

    def broken(*_: Any) -> None:
        raise RuntimeError("/secret/place SELECT")

    monkeypatch.setattr(store, "create_session", broken)
    answer = await alice.send("POST", "/api/sessions", {})
    problem(answer, 500, "internal_error")
    assert b"secret" not in answer.content
    assert json.loads(answer.content)["detail"] == "Something went wrong in the server."


async def test_two_makers_of_one_session_get_one_answer(alice: Caller) -> None:
    """Below HTTP: the second sees the first's row also when it looked before."""
    from sessions_app.ids import new_id
    from sessions_app.store.sessions import NewSession, create_session

    asked, key = NewSession("", {"name": "n"}, "f"), new_id()
    first = await write(create_session, alice.user, asked, key)
    second = await write(create_session, alice.user, asked, key)
    assert (first[1], second[1]) == (True, False)
