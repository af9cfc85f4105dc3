from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from streaming.feed.capture import capture, shown
from streaming.feed.events import Event
from streaming.feed.fold import entry_of, fold
from streaming.feed.live_state import Bounds, State, fold_live
from streaming.feed.window import Window
from tests.unit.feed import samples
from tests.unit.feed.samples import RUN, STORY, fresh_state, snapshot_of

Snapshots = list[dict[str, Any]]


def published() -> tuple[list[dict[str, Any]], list[State], Snapshots]:
    """The story as an actor publishes it: events on the wire, live states and snapshots, one per cut."""
    window, state = Window(1_000, 10**6), fresh_state()
    items: list[dict[str, Any]] = []
    wire: list[dict[str, Any]] = []
    states, snapshots = [state], [snapshot_of(state, [])]
    for event in STORY:
        wire.append(json.loads(window.append(event).text))
        state = fold_live(state, wire[-1])
        if (entry := entry_of(wire[-1])) is not None:
            items = [*items, entry]
        states.append(state)
        snapshots.append(snapshot_of(state, items))
    return wire, states, snapshots


@pytest.mark.parametrize("cut", range(len(STORY) + 1))
def test_a_snapshot_at_any_cut_and_the_events_behind_it_give_every_later_snapshot(cut: int) -> None:
    wire, _, snapshots = published()
    folded = snapshots[cut]
    for index in range(cut, len(STORY)):
        before = deepcopy(folded)
        after = fold(folded, wire[index])
        assert folded == before, f"{wire[index]['type']} changed the snapshot before it"
        folded = after
        assert folded == snapshots[index + 1]


@pytest.mark.parametrize("cut", range(len(STORY) + 1))
def test_the_attach_page_at_any_cut_replays_to_the_same_end(cut: int) -> None:
    window, state = Window(1_000, 10**6), fresh_state()
    for event in STORY:
        state = fold_live(state, json.loads(window.append(event).text))
    reply = json.loads(
        capture(window, state, after_generation="1-abcd0123", after_sequence=cut, page_bytes=10**6)
    )
    _, _, snapshots = published()
    folded = snapshots[cut]
    for event in reply["events"]:
        folded = fold(folded, event)
    assert folded == snapshots[-1]
    assert reply["live"] is None
    assert reply["verdict"] == ("up_to_date" if cut == len(STORY) else "replay")


@pytest.mark.parametrize(
    "waiting",
    [
        samples.delta("text", 0, "provisional"),
        samples.delta("thinking", 0, "provisional"),
        samples.progress("call-z", "generating", 5),
        samples.output("call-a", 0, "printed"),
        samples.status("running"),
    ],
    ids=lambda event: event.type,
)
def test_what_waited_at_the_capture_changes_nothing_when_it_follows(waiting: Event) -> None:
    window, state = Window(10, 10_000), fresh_state()
    coalesced = {"type": waiting.type, "data": waiting.data}
    reply = json.loads(
        capture(
            window, state, after_generation=None, after_sequence=None, page_bytes=100, waiting=[coalesced]
        )
    )
    assert (reply["verdict"], reply["reason"], reply["events"]) == ("reset", "initial", [])
    assert reply["live"]["cursor"] == {"generation": "1-abcd0123", "sequence": 0}
    event = json.loads(window.append(waiting).text)
    followed = fold_live(reply["live"], event)
    assert followed == fold_live(state, event)
    assert {**followed, "cursor": None} == {**reply["live"], "cursor": None}


def test_showing_what_waits_leaves_the_state_alone() -> None:
    state = fresh_state()
    before = deepcopy(state)
    event = samples.delta("text", 0, "x")
    assert shown(state, [{"type": event.type, "data": event.data}]) != before
    assert state == before


def after(*events: Event, bounds: Bounds | None = None) -> State:
    state = fresh_state()
    for sequence, event in enumerate(events, 1):
        wire = {"type": event.type, "sequence": sequence, "data": event.data}
        state = fold_live(state, wire, bounds or Bounds())
    return state


def test_an_input_no_longer_pending_leaves_the_list_and_order_only_grows() -> None:
    one, two = samples.waiting_input("a", 1, "pending"), samples.waiting_input("b", 2, "pending")
    state = after(two, one, samples.waiting_input("b", 2, "cancelled"))
    assert [item["id"] for item in state["pending_inputs"]] == ["a"]
    assert state["input_order"] == 2


def test_pending_inputs_stand_in_order_of_acceptance() -> None:
    state = after(samples.waiting_input("b", 2, "pending"), samples.waiting_input("a", 1, "pending"))
    assert [item["id"] for item in state["pending_inputs"]] == ["a", "b"]


def test_text_and_thinking_of_one_message_stand_together() -> None:
    state = after(samples.delta("thinking", 0, "hm"), samples.delta("text", 0, "yes"))
    assert state["current_message"] == {
        "run_id": RUN,
        "message_id": "entry-4",
        "attempt": 1,
        "text": {"offset_scalars": 0, "text": "yes"},
        "thinking": {"offset_scalars": 0, "text": "hm"},
    }


def test_the_current_message_ends_with_its_own_entry_alone() -> None:
    text = samples.delta("text", 0, "yes", message_id="m")
    other = Event("message", {"entry": samples.entry(1, "thinking")})
    own = Event("message", {"entry": samples.entry(2, "assistant", message_id="m")})
    assert after(text, other)["current_message"] is not None
    assert after(text, other, own)["current_message"] is None


def test_a_retry_voids_its_own_attempt_alone_and_clears_progress() -> None:
    shown_call = samples.progress("c", "generating", 1)
    text = samples.delta("text", 0, "yes", attempt=2)
    assert after(text, shown_call, samples.retry(1))["current_message"] is not None
    voided = after(text, shown_call, samples.retry(2))
    assert (voided["current_message"], voided["current_progress"]) == (None, [])


def test_progress_replaces_in_place_and_null_clears_all() -> None:
    calls = [samples.progress(name, "generating", 1) for name in ("a", "b")]
    state = after(*calls, samples.progress("a", "running", 7))
    assert [(call["call_id"], call["phase"]) for call in state["current_progress"]] == [
        ("a", "running"),
        ("b", "generating"),
    ]
    assert after(*calls, Event("tool_progress", {"progress": None}))["current_progress"] == []


def test_a_finished_call_takes_its_progress_and_output_and_leaves_the_others() -> None:
    state = after(
        samples.progress("a", "running", 1),
        samples.progress("b", "generating", 1),
        samples.output("a", 0, "x"),
        samples.output("b", 0, "y"),
        samples.finished_call(1, "a", "done"),
    )
    assert [call["call_id"] for call in state["current_progress"]] == ["b"]
    assert [held["call_id"] for held in state["current_output"]] == ["b"]


def test_live_text_and_output_are_bounded() -> None:
    bounds = Bounds(message_bytes=10, output_bytes=6)
    state = after(
        samples.delta("text", 0, "0123456789ab"), samples.output("a", 0, "0123456789"), bounds=bounds
    )
    assert state["current_message"]["text"] == {"offset_scalars": 2, "text": "23456789ab"}
    assert state["current_output"] == [{"call_id": "a", "offset_scalars": 4, "text": "456789"}]


def test_a_large_result_is_a_reference_in_its_entry() -> None:
    entry = entry_of({"type": "tool", "data": samples.finished_call(3, "a", None).data})
    assert entry is not None
    assert entry["content"] == [
        {"kind": "reference", "reference": {"field": "result", "url": "/api/x", "bytes": 99}}
    ]
    assert entry["content_complete"] is False


def test_an_entry_already_in_history_is_not_added_twice() -> None:
    event = {"type": "message", "sequence": 1, "data": {"entry": samples.entry(1, "user")}}
    once = fold(snapshot_of(fresh_state(), []), event)
    assert fold(once, {**event, "sequence": 2})["history"] == once["history"]


def test_an_unknown_type_moves_the_cursor_and_nothing_else() -> None:
    before = snapshot_of(fresh_state(), [])
    folded = fold(before, {"type": "later_invention", "sequence": 1, "data": {}})
    assert folded == {**before, "cursor": {"generation": "1-abcd0123", "sequence": 1}}


def test_a_page_with_its_envelope_stays_within_the_page_size() -> None:
    window, state = Window(1_000, 10**6), fresh_state()
    for _ in range(100):
        window.append(samples.delta("text", 0, "x" * 500))
    page = capture(window, state, after_generation="1-abcd0123", after_sequence=0, page_bytes=8_192)
    assert 6_000 < len(page.encode()) <= 8_192
    assert json.loads(page)["more"] is True


def test_large_arguments_leave_the_result_entry_complete_and_images_follow_the_result() -> None:
    image = {"kind": "image", "url": "/api/i", "mime_type": "image/png", "bytes": 9, "width": 1, "height": 1}
    arguments = {"field": "arguments", "url": "/api/a", "bytes": 99}
    data = {**samples.finished_call(3, "a", "done").data, "references": [arguments], "images": [image]}
    entry = entry_of({"type": "tool", "data": {**data, "content_complete": False, "reference": arguments}})
    assert entry is not None
    assert entry["content"] == [{"kind": "json", "field": "result", "value": "done"}, image]
    assert entry["content_complete"] is True
