from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.feed.events import Event
from streaming.feed.window import Window, judge

texts = st.lists(st.text(max_size=30), max_size=40)


def note(text: str) -> Event:
    return Event("note", {"code": "n", "text": text})


def filled(words: list[str], max_events: int = 1_000, max_bytes: int = 1_000_000) -> Window:
    window = Window(max_events, max_bytes)
    for word in words:
        window.append(note(word))
    return window


@settings(max_examples=60)
@given(texts, st.integers(1, 400), st.data())
def test_pages_from_any_position_join_to_the_log(
    words: list[str], page_bytes: int, data: st.DataObject
) -> None:
    window = filled(words)
    start = data.draw(st.integers(0, len(words)))
    cursor, read, more = start, [], True
    while more:
        page = window.after(cursor, page_bytes)
        assert page.texts or not page.more
        assert len(page.texts) <= 1 or sum(len(text.encode()) for text in page.texts) <= page_bytes
        read += page.texts
        cursor, more = page.cursor, page.more
    events = [json.loads(text) for text in read]
    assert [event["sequence"] for event in events] == list(range(start + 1, len(words) + 1))
    assert [event["data"]["text"] for event in events] == words[start:]


@settings(max_examples=60)
@given(texts, st.integers(1, 12), st.integers(1, 600), st.integers(-3, 50))
def test_a_position_is_reset_exactly_when_something_after_it_is_gone_or_it_is_not_yet(
    words: list[str], max_events: int, max_bytes: int, position: int
) -> None:
    window = filled(words, max_events, max_bytes)
    held = {json.loads(text)["sequence"] for text in window.after(window.oldest - 1, 10**9).texts}
    complete = 0 <= position <= len(words) and set(range(position + 1, len(words) + 1)) <= held
    verdict = judge(window, "1-a", "1-a", position)
    assert (verdict.verdict == "reset") == (not complete)
    assert verdict.reason == (None if complete else "replay_unavailable")
    if complete:
        assert (verdict.verdict == "up_to_date") == (position == len(words))


@settings(max_examples=60)
@given(texts, st.integers(1, 12), st.integers(1, 600))
def test_the_window_keeps_the_newest_within_both_bounds(
    words: list[str], max_events: int, max_bytes: int
) -> None:
    window = filled(words, max_events, max_bytes)
    kept = window.after(window.oldest - 1, 10**9).texts
    assert len(window) == len(kept) <= max_events
    assert window.size_bytes == sum(len(text.encode()) for text in kept) <= max_bytes
    # One more event would have broken a bound: nothing is thrown away early.
    whole = filled(words).after(0, 10**9).texts
    if len(kept) < len(whole):
        one_more = whole[-len(kept) - 1 :]
        assert len(one_more) > max_events or sum(len(text.encode()) for text in one_more) > max_bytes


def test_an_event_larger_than_the_window_leaves_it_empty_and_old_positions_void() -> None:
    window = filled(["a", "b"], max_bytes=200)
    window.append(note("x" * 500))
    assert (window.oldest, window.newest, len(window)) == (4, 3, 0)
    assert judge(window, "1-a", "1-a", 2).reason == "replay_unavailable"
    assert judge(window, "1-a", "1-a", 3).verdict == "up_to_date"


def test_generations_are_compared_before_numbers() -> None:
    window = filled(["a", "b"])
    assert judge(window, "2-b", "1-a", 1).reason == "generation_changed"
    assert judge(window, "2-b", "1-a", 99).reason == "generation_changed"


def test_no_position_is_initial() -> None:
    assert judge(filled([]), "1-a", None, None).reason == "initial"


def test_an_event_that_cannot_be_encoded_takes_no_number() -> None:
    window = filled(["a"])
    with pytest.raises(ValueError):
        window.append(Event("note", {"code": "n", "text": object()}))
    assert (window.newest, window.append(note("b")).sequence) == (1, 2)


def test_reading_after_a_lost_position_is_an_error_never_an_empty_page() -> None:
    window = filled(["a", "b", "c"], max_events=1)
    with pytest.raises(ValueError):
        window.after(0, 100)
