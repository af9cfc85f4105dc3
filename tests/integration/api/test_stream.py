"""The replay page and snapshots: what an actor captured joined with what is stored, and rest without one."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from sessions_app.live import Cursor, LiveReply
from sessions_app.models import Session
from sessions_app.snapshots import attach_page
from sessions_app.store.executor import read
from tests.integration.api.callers import Caller, Json, RecordedLive, fresh, problem, told
from tests.integration.api.rows import add_run, add_texts

pytestmark = pytest.mark.django_db(transaction=True)

LIVE_PART: Json = {
    "status": {"phase": "generating", "run_id": None, "interrupt_requested": False, "blocking_reason": None},
    "input_order": 3,
    "pending_inputs": [],
    "pending_approvals": [],
    "current_message": None,
    "current_progress": [],
    "current_output": [],
    "usage": {},
    "high_water": 2,
    "cursor": {"generation": "1-ab", "sequence": 7},
}
RESET = LiveReply("1-ab", 7, "reset", "initial", 5, 7, [], False, LIVE_PART)
EVENT = {"type": "note", "sequence": 7, "data": {"code": "x", "text": "y"}}
REPLAY = LiveReply("1-ab", 7, "replay", None, 5, 7, [EVENT], True, None)


@pytest.fixture
async def session_id(alice: Caller) -> str:
    return str((await alice.make_session(name="s"))["id"])


async def test_a_reset_leads_with_its_event_and_carries_the_snapshot(
    alice: Caller, session_id: str, live: RecordedLive
) -> None:
    await read(add_texts, session_id, ["one", "two", "three"])
    live.reply = RESET
    page = told(await alice.get(f"/api/sessions/{session_id}/stream"))
    assert page["events"] == [{"type": "reset", "data": {"reason": "initial"}}]
    assert page["attach"] == {"verdict": "reset", "reason": "initial", "oldest": 5, "newest": 7}
    assert (page["generation"], page["cursor"], page["more"]) == ("1-ab", 7, False)
    snapshot = page["snapshot"]
    assert snapshot["cursor"] == {"generation": "1-ab", "sequence": 7}
    assert "high_water" not in snapshot
    assert snapshot["name"] == "s"
    # Entry 3 came after the capture: its event will tell of it.
    assert [item["position"] for item in snapshot["history"]["items"]] == [1, 2]
    assert snapshot["history"]["high_water"] == 2
    assert live.named("capture")[-1][2:] == (None, True)


async def test_a_get_of_the_session_is_the_same_snapshot_and_starts_nothing(
    alice: Caller, session_id: str, live: RecordedLive
) -> None:
    live.reply = RESET
    page = told(await alice.get(f"/api/sessions/{session_id}/stream?tail=5"))
    assert told(await alice.get(f"/api/sessions/{session_id}?tail=5")) == page["snapshot"]
    assert live.named("capture")[-1][3] is False


async def test_a_replay_is_the_events_after_the_cursor(
    alice: Caller, session_id: str, live: RecordedLive
) -> None:
    live.reply = REPLAY
    page = told(await alice.get(f"/api/sessions/{session_id}/stream?after_generation=1-ab&after_seq=6"))
    assert page == {
        "generation": "1-ab",
        "cursor": 7,
        "events": [EVENT],
        "attach": {"verdict": "replay", "reason": None, "oldest": 5, "newest": 7},
        "more": True,
    }
    assert live.named("capture")[-1][2] == Cursor("1-ab", 6)


async def test_no_actor_in_time_is_503(alice: Caller, session_id: str, live: RecordedLive) -> None:
    answer = await alice.get(f"/api/sessions/{session_id}/stream")
    problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0


@pytest.mark.parametrize(
    "query",
    [
        "after_seq=1",
        "after_generation=1-ab",
        "after_generation=&after_seq=1",
        "after_generation=1-ab&after_seq=",
        "after_generation=1-ab&after_seq=-1",
        "after_generation=1-ab&after_seq=1.0",
        "after_generation=1-ab&after_seq=1_0",
        "after_generation=1-ab&after_seq=+1",
        "after_generation=1-ab&after_seq=%201",
        "after_generation=1-ab&after_seq=%D9%A1",
        "after_generation=1-ab&after_seq=" + "9" * 19,
        "after_generation=a:b&after_seq=1",
        "after_generation=" + "a" * 65 + "&after_seq=1",
        "tail=201",
        "tail=-1",
        "after_seq=1&after_seq=1&after_generation=x",
    ],
)
async def test_half_a_cursor_or_a_malformed_one_is_refused(
    alice: Caller, session_id: str, live: RecordedLive, query: str
) -> None:
    live.reply = RESET
    problem(await alice.get(f"/api/sessions/{session_id}/stream?{query}"), 400, "invalid_request")


def started(live: RecordedLive) -> list[tuple[Any, ...]]:
    """The captures that would start an actor."""
    return [call for call in live.named("capture") if call[3]]


async def _rest(session_id: str, **fields: Any) -> None:
    values = {"generation": 4, "generation_nonce": "ab", "last_sequence": 9, **fields}
    await Session.objects.filter(id=session_id).aupdate(**values)


async def _at(session_id: str, generation: str = "4-ab", sequence: int = 9) -> Json:
    return await attach_page(
        (await Session.objects.aget(id=session_id)).id, Cursor(generation, sequence), tail=5
    )


async def test_the_newest_cursor_of_a_session_at_rest_needs_no_actor(
    session_id: str, live: RecordedLive
) -> None:
    await _rest(session_id)
    page = await _at(session_id)
    assert page["attach"] == {"verdict": "up_to_date", "reason": None, "oldest": 10, "newest": 9}
    assert (page["events"], page["cursor"], "snapshot" in page) == ([], 9, False)
    assert started(live) == []


@pytest.mark.parametrize("unrest", ["lease", "run", "input", "died", "older", "newer", "generation"])
async def test_anything_else_asks_the_actor(
    alice: Caller, session_id: str, live: RecordedLive, unrest: str
) -> None:
    live.reply = dataclasses.replace(REPLAY, generation="4-ab")
    unrested: Json = {"lease_until": timezone.now() + timedelta(seconds=9)} if unrest == "lease" else {}
    await _rest(session_id, **unrested, **({"last_sequence": None} if unrest == "died" else {}))
    if unrest == "run":
        await read(add_run, session_id)
    if unrest == "input":
        await alice.send("POST", f"/api/sessions/{session_id}/inputs", {"text": "x"})
    sequence = {"older": 8, "newer": 10, "died": 0}.get(unrest, 9)
    await _at(session_id, "4-xy" if unrest == "generation" else "4-ab", sequence)
    assert len(started(live)) == 1


async def test_without_an_actor_and_without_starting_one_the_database_answers(
    session_id: str, live: RecordedLive
) -> None:
    await _rest(session_id)
    key = (await Session.objects.aget(id=session_id)).id
    reasons = [
        (await attach_page(key, cursor, tail=5, start=False))["attach"]["reason"]
        for cursor in (None, Cursor("3-zz", 9), Cursor("4-ab", 2))
    ]
    assert reasons == ["initial", "generation_changed", "replay_unavailable"]


async def test_a_session_that_is_gone_is_not_found(alice: Caller, live: RecordedLive) -> None:
    problem(await alice.get(f"/api/sessions/{fresh()}/stream"), 404, "not_found")
