"""The terminal's small fold says what the whole fold says, of everything that it shows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.terminal.view import TAIL_SCALARS, Tail, View
from streaming.feed.events import Event
from streaming.feed.fold import fold
from tests.unit.feed.samples import STORY, fresh_state, snapshot_of

GENERATION = "1-abcd0123"


def numbered(events: tuple[Event, ...]) -> list[dict[str, Any]]:
    return [
        {"type": event.type, "sequence": number, "data": event.data} for number, event in enumerate(events, 1)
    ]


def batch(events: list[dict[str, Any]], cursor: int | None = None, **more: Any) -> dict[str, Any]:
    last = events[-1].get("sequence", 0) if events else 0
    return {"generation": GENERATION, "cursor": last if cursor is None else cursor, "events": events, **more}


def reset(snapshot: dict[str, Any]) -> dict[str, Any]:
    event = {"type": "reset", "data": {"reason": "initial"}}
    return batch([event], snapshot["cursor"]["sequence"], snapshot=snapshot)


def snapshots() -> list[dict[str, Any]]:
    found = [snapshot_of(fresh_state(GENERATION), [])]
    for event in numbered(STORY):
        found.append(fold(found[-1], event))
    return found


def shown(view: View) -> dict[str, Any]:
    return {
        "cursor": view.cursor,
        "status": view.status,
        "order": view.input_order,
        "tails": view.tails,
        "progress": view.progress,
        "output": view.output,
        "high_water": view.high_water,
    }


def attached(snapshot: dict[str, Any]) -> View:
    view = View()
    assert view.apply(reset(snapshot)).reset
    return view


@pytest.mark.parametrize("cut", range(len(STORY) + 1))
def test_a_snapshot_and_what_follows_show_what_the_later_snapshot_shows(cut: int) -> None:
    all_snapshots, events = snapshots(), numbered(STORY)
    view = attached(all_snapshots[cut])
    for index in range(cut, len(STORY)):
        view.apply(batch([events[index]]))
        assert shown(view) == shown(attached(all_snapshots[index + 1])), events[index]["type"]
    assert not view.lost


def test_entries_are_told_once_each_in_order_whatever_is_repeated() -> None:
    events = numbered(STORY)
    view = attached(snapshots()[0])
    told: list[int] = []
    for piece in (events[:20], events[10:25], events[:5], events[25:]):
        told += [entry["position"] for entry in view.apply(batch(piece)).entries]
    # A reset in between brings the same entries again.
    told += [entry["position"] for entry in view.apply(reset(snapshots()[-1])).entries]
    assert told == [1, 2, 3, 4, 5, 6]


def test_a_missing_event_is_seen_and_what_is_behind_it_left_alone() -> None:
    events = numbered(STORY)
    view = attached(snapshots()[0])
    view.apply(batch(events[:3]))
    view.apply(batch(events[4:8]))
    assert view.lost
    assert view.cursor == (GENERATION, 3)
    view.apply(batch(events[3:8]))
    assert not view.lost


@pytest.mark.parametrize(
    "odd",
    [
        batch([{"type": "note", "sequence": 1, "data": {"code": "x", "text": ""}}])
        | {"generation": "2-other"},
        batch([], cursor=7),
        batch([{"type": "reset", "data": {"reason": "initial"}}], cursor=0),
    ],
    ids=["another generation", "a cursor ahead", "a reset without its snapshot"],
)
def test_what_cannot_be_followed_is_lost_and_not_folded(odd: dict[str, Any]) -> None:
    view = attached(snapshots()[0])
    before = view.cursor
    view.apply(odd)
    assert view.lost
    assert view.cursor == before


def test_before_the_first_snapshot_nothing_can_be_followed() -> None:
    view = View()
    view.apply(batch(numbered(STORY)[:1]))
    assert view.lost
    assert view.cursor is None


def test_an_unknown_type_is_passed_over() -> None:
    view = attached(snapshots()[0])
    view.apply(batch([{"type": "from_the_future", "sequence": 1, "data": {}}]))
    assert view.cursor == (GENERATION, 1)
    assert not view.lost


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=60), st.data())
def test_a_tail_is_the_text_whatever_the_pieces_and_repeats(text: str, data: st.DataObject) -> None:
    tail, end = Tail(), 0
    while end < len(text):
        start = data.draw(st.integers(0, end))
        stop = data.draw(st.integers(end + 1, len(text)))
        tail, end = tail.extended(start, text[start:stop]), stop
    assert tail == Tail(0, text)


def test_a_tail_is_bounded_and_knows_what_stands_before_it() -> None:
    tail = Tail().extended(0, "a" * TAIL_SCALARS).extended(TAIL_SCALARS, "🎈b")
    assert (tail.offset, len(tail.text), tail.text[-2:]) == (2, TAIL_SCALARS, "🎈b")
    assert tail.extended(TAIL_SCALARS + 50, "far") == Tail(TAIL_SCALARS + 50, "far")
