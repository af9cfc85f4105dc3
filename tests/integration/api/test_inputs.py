"""Inputs: stored once and in order, bounded in number, taken back, and runs stopped exactly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sessions_app.models import Input, Run
from sessions_app.store.executor import read
from tests.integration.api.callers import Caller, RecordedLive, fresh, problem, told
from tests.integration.api.rows import add_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def path(alice: Caller) -> str:
    return f"/api/sessions/{(await alice.make_session())['id']}"


async def test_an_accepted_input_waits_under_its_id(alice: Caller, path: str, live: RecordedLive) -> None:
    key = fresh()
    answer = await alice.send("PUT", f"{path}/inputs/{key}", {"text": "hello"})
    assert answer.status_code == 202
    assert answer["Location"] == f"{path}/inputs/{key}"
    shown = told(answer)
    assert shown["id"] == key
    assert (shown["order"], shown["state"], shown["run_id"], shown["outcome"]) == (1, "pending", None, None)
    assert told(await alice.get(f"{path}/inputs/{key}")) == shown
    assert [call[0] for call in live.calls[-2:]] == ["wake", "announce"]


async def test_the_same_put_twenty_times_at_once_is_one_input(alice: Caller, path: str) -> None:
    target = f"{path}/inputs/{fresh()}"
    answers = await asyncio.gather(*(alice.send("PUT", target, {"text": "once"}) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert await read(Input.objects.count) == 1
    assert (await alice.send("PUT", target, {"text": "once", "when_busy": "queue"})).status_code == 202
    problem(await alice.send("PUT", target, {"text": "other"}), 409, "input_conflict")


async def test_orders_are_dense_and_follow_acceptance(alice: Caller, path: str) -> None:
    answers = await asyncio.gather(
        *(alice.send("POST", f"{path}/inputs", {"text": str(n)}) for n in range(12))
    )
    assert sorted(told(answer)["order"] for answer in answers) == list(range(1, 13))
    listed = told(await alice.get(f"{path}/inputs?limit=5"))
    assert [item["order"] for item in listed["items"]] == [1, 2, 3, 4, 5]
    rest = told(await alice.get(f"{path}/inputs?limit=10&next={listed['next']}"))
    assert [item["order"] for item in rest["items"]] == list(range(6, 13))
    assert rest["next"] is None


async def test_no_more_wait_than_the_limit(alice: Caller, path: str, settings: Any) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "queue_limit": 3}
    answers = await asyncio.gather(*(alice.send("POST", f"{path}/inputs", {"text": "x"}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 5
    refused = next(answer for answer in answers if answer.status_code == 429)
    problem(refused, 429, "queue_full")
    assert int(refused["Retry-After"]) > 0
    assert await read(Input.objects.count) == 3


async def test_a_full_queue_still_answers_for_what_it_holds(alice: Caller, path: str, settings: Any) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "queue_limit": 1}
    target = f"{path}/inputs/{fresh()}"
    for _ in range(2):
        assert (await alice.send("PUT", target, {"text": "x"})).status_code == 202


async def test_reject_is_refused_while_anything_is_to_be_done(alice: Caller, path: str) -> None:
    body = {"text": "now", "when_busy": "reject"}
    assert (await alice.send("POST", f"{path}/inputs", body)).status_code == 202
    problem(await alice.send("POST", f"{path}/inputs", body), 409, "session_busy")


async def test_interrupt_puts_the_stop_on_record_with_the_input(
    alice: Caller, path: str, live: RecordedLive
) -> None:
    run = await read(add_run, path.rsplit("/", 1)[1])
    await alice.send("POST", f"{path}/inputs", {"text": "stop that", "when_busy": "interrupt"})
    stopped = await read(Run.objects.get, id=run.id)
    assert stopped.interrupt_by == "alice"
    assert stopped.interrupt_requested_at is not None
    assert [call[2] for call in live.named("interrupt")] == [run.id]
    shown = told(await alice.get(path))
    assert shown["status"]["phase"] == "interrupting"
    assert shown["status"]["interrupt_requested"] is True


async def test_a_waiting_input_can_be_taken_back_once(alice: Caller, path: str) -> None:
    target = f"{path}/inputs/{fresh()}"
    await alice.send("PUT", target, {"text": "oops"})
    assert told(await alice.send("POST", f"{target}/cancel"))["state"] == "cancelled"
    problem(await alice.send("POST", f"{target}/cancel", {}), 409, "not_pending")
    problem(await alice.send("POST", f"{path}/inputs/{fresh()}/cancel"), 404, "not_found")
    assert told(await alice.get(path))["status"]["phase"] == "idle"


async def test_interrupt_stops_exactly_that_run_and_what_waited_then(
    alice: Caller, path: str, live: RecordedLive
) -> None:
    session_id = path.rsplit("/", 1)[1]
    run = await read(add_run, session_id)
    ids = [told(await alice.send("POST", f"{path}/inputs", {"text": "x"}))["id"] for _ in range(3)]
    body = {"run_id": str(run.id), "through_input_order": 2}
    first = told(await alice.send("POST", f"{path}/interrupt", body))
    assert first == {"run_id": str(run.id), "state": "requested", "cancelled_input_ids": ids[:2]}
    again = told(await alice.send("POST", f"{path}/interrupt", body))
    assert again == {"run_id": str(run.id), "state": "requested", "cancelled_input_ids": []}
    proof = told(await alice.get(f"{path}/runs/{run.id}"))["interrupt"]
    assert proof["by"] == "alice"
    assert proof["settled_at"] is None


async def test_a_run_that_has_ended_is_left_alone(alice: Caller, path: str, live: RecordedLive) -> None:
    session_id = path.rsplit("/", 1)[1]
    old = await read(add_run, session_id, state="completed")
    new = await read(add_run, session_id)
    body = {"run_id": str(old.id), "through_input_order": 0}
    assert told(await alice.send("POST", f"{path}/interrupt", body))["state"] == "already_ended"
    assert told(await alice.get(f"{path}/runs/{new.id}"))["interrupt"] is None
    assert live.named("interrupt") == []


async def test_interrupt_without_a_run_only_cancels(alice: Caller, path: str, live: RecordedLive) -> None:
    run = await read(add_run, path.rsplit("/", 1)[1])
    made = told(await alice.send("POST", f"{path}/inputs", {"text": "x"}))
    answer = told(await alice.send("POST", f"{path}/interrupt", {"run_id": None, "through_input_order": 9}))
    assert answer == {"run_id": None, "state": "already_ended", "cancelled_input_ids": [made["id"]]}
    assert told(await alice.get(f"{path}/runs/{run.id}"))["interrupt"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "/run_id"),
        ({"run_id": None}, "/through_input_order"),
        ({"through_input_order": 1}, "/run_id"),
        ({"run_id": 5, "through_input_order": 1}, "/run_id"),
        ({"run_id": None, "through_input_order": -1}, "/through_input_order"),
        ({"run_id": None, "through_input_order": "1"}, "/through_input_order"),
        ({"run_id": None, "through_input_order": 1.0}, "/through_input_order"),
        ({"run_id": None, "through_input_order": True}, "/through_input_order"),
        ({"run_id": None, "through_input_order": 10**30}, "/through_input_order"),
    ],
)
async def test_interrupt_asks_for_both_values_as_they_are(
    alice: Caller, path: str, body: dict[str, Any], field: str
) -> None:
    assert (
        field
        in problem(await alice.send("POST", f"{path}/interrupt", body), 400, "invalid_request")["fields"]
    )


async def test_a_run_of_another_session_is_unknown(alice: Caller, path: str) -> None:
    other = await alice.make_session()
    run = await read(add_run, other["id"])
    for run_id in (str(run.id), fresh(), "no uuid"):
        body = {"run_id": run_id, "through_input_order": 0}
        problem(await alice.send("POST", f"{path}/interrupt", body), 404, "not_found")
        problem(await alice.get(f"{path}/runs/{run_id}"), 404, "not_found")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": ""},
        {"text": " \n\t"},
        {"text": "a\x00b"},
        {"text": "\ud800"},
        {"text": None},
        {"text": "x", "when_busy": "later"},
        {"text": "x", "attachments": []},
        {"text": "x", "base_url": "http://sink"},
        {"text": "x", "state": "committed"},
    ],
)
async def test_an_input_that_is_not_understood_is_not_stored(
    alice: Caller, path: str, body: dict[str, Any]
) -> None:
    problem(await alice.send("POST", f"{path}/inputs", body), 400, "invalid_request")
    assert await read(Input.objects.count) == 0


async def test_an_input_may_be_larger_than_other_bodies_but_not_than_its_own_bound(
    alice: Caller, path: str, settings: Any
) -> None:
    large = {"text": "x" * 100_000}
    assert (await alice.send("POST", f"{path}/inputs", large)).status_code == 202
    problem(await alice.send("POST", f"{path}/interrupt", large), 413, "too_large")
    settings.ALBEDO = {**settings.ALBEDO, "input_bytes": 50_000}
    problem(await alice.send("POST", f"{path}/inputs", large), 413, "too_large")
    assert await read(Input.objects.count) == 1


async def test_runs_are_listed_oldest_first(alice: Caller, path: str) -> None:
    session_id = path.rsplit("/", 1)[1]
    ids = [str((await read(add_run, session_id, state="completed")).id) for _ in range(3)]
    first = told(await alice.get(f"{path}/runs?limit=2"))
    second = told(await alice.get(f"{path}/runs?limit=2&next={first['next']}"))
    assert [run["id"] for run in first["items"] + second["items"]] == ids
    assert second["next"] is None
