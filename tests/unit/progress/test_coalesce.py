from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.limits import FeedLimits, ProgressLimits
from streaming.progress.coalesce import Coalescer, Update
from streaming.progress.sizes import deep_size
from tests.unit.progress.builders import examples

MESSAGE = {"run_id": "r", "message_id": "m", "attempt": 1}


def coalescer(text_event_bytes: int = 16_384, output_event_bytes: int = 16_384) -> Coalescer:
    return Coalescer(
        FeedLimits(text_event_bytes=text_event_bytes, output_event_bytes=output_event_bytes), ProgressLimits()
    )


def text(said: str, offset: int = 0, kind: str = "text", **changed: Any) -> Update:
    return Update(kind, {**MESSAGE, "offset_scalars": offset, "text": said, **changed})


def output(said: str, offset: int = 0, call_id: str = "c-0") -> Update:
    return Update("tool_output", {"run_id": "r", "call_id": call_id, "offset_scalars": offset, "text": said})


def progress(chars: int, call_id: str = "c-0", *, immediate: bool = False) -> Update:
    return Update("tool_progress", {"progress": {"call_id": call_id, "arguments_chars": chars}}, immediate)


def said(updates: list[Update]) -> list[tuple[str, int, str]]:
    return [(item.type, item.data["offset_scalars"], item.data["text"]) for item in updates]


STATUS = Update("status", {"phase": "running"})
CLEAR = Update("tool_progress", {"progress": None}, immediate=True)


def test_neighbours_of_one_part_join_under_the_first_offset() -> None:
    waits = coalescer()
    assert waits.add(text("ab", 7), 0.0) == []
    assert waits.add(text("c", 9), 0.01) == []
    assert waits.add(text("d", 10, "thinking"), 0.02) == []
    assert waits.add(text("e", 10), 0.03) == []
    assert waits.add(text("f", 11), 0.04) == []

    assert said(waits.flush()) == [("text", 7, "abc"), ("thinking", 10, "d"), ("text", 10, "ef")]
    assert waits.flush() == []


@pytest.mark.parametrize(
    "other", [text("b", 5), text("b", 1, attempt=2), text("b", 1, message_id="n"), text("b", 1, run_id="s")]
)
def test_another_part_or_a_gap_does_not_join(other: Update) -> None:
    waits = coalescer()
    waits.add(text("a"), 0.0)
    waits.add(other, 0.0)
    assert waits.flush() == [text("a"), other]


def test_each_kind_waits_its_time_from_its_first_delta() -> None:
    waits = coalescer()
    assert waits.next_due is None
    waits.add(text("a"), 10.0)
    waits.add(text("b", 1), 10.04)
    assert waits.next_due == pytest.approx(10.05)
    assert waits.due(10.049) == []
    assert said(waits.due(10.051)) == [("text", 0, "ab")]
    assert waits.next_due is None

    waits.add(progress(1), 20.0)
    waits.add(progress(2), 20.09)
    assert waits.next_due == pytest.approx(20.1)
    assert waits.due(20.101) == [progress(2)]
    waits.add(output("x"), 30.0)
    assert waits.next_due == pytest.approx(30.1)


def test_the_latest_progress_of_each_call_is_published_also_where_silence_follows() -> None:
    waits = coalescer()
    for chars in range(50):
        waits.add(progress(chars, f"c-{chars % 2}"), chars / 1000)
    assert waits.due(1.0) == [progress(48, "c-0"), progress(49, "c-1")]
    assert waits.due(2.0) == []


def test_what_is_due_takes_along_what_waits_before_it_and_leaves_the_rest() -> None:
    waits = coalescer()
    waits.add(progress(1), 0.0)
    waits.add(text("a"), 0.01)
    waits.add(progress(2, "c-1"), 0.02)
    assert waits.due(0.061) == [progress(1), text("a")]
    assert waits.due(0.2) == [progress(2, "c-1")]


def test_an_update_that_does_not_wait_comes_behind_all_that_waited() -> None:
    waits = coalescer()
    waits.add(text("a"), 0.0)
    waits.add(output("b"), 0.0)
    assert waits.add(STATUS, 0.0) == [text("a"), output("b"), STATUS]
    assert waits.next_due is None


def test_running_takes_the_place_of_a_waiting_update_of_its_call_alone() -> None:
    waits = coalescer()
    waits.add(progress(1, "c-0"), 0.0)
    waits.add(text("a"), 0.0)
    waits.add(progress(1, "c-1"), 0.0)
    running = progress(9, "c-0", immediate=True)
    assert waits.add(running, 0.0) == [text("a"), progress(1, "c-1"), running]


def test_a_clear_leaves_no_progress_waiting() -> None:
    waits = coalescer()
    waits.add(progress(1), 0.0)
    waits.add(text("a"), 0.0)
    assert waits.add(CLEAR, 0.0) == [text("a"), CLEAR]
    assert waits.due(9.0) == []


def test_discard_takes_out_what_a_retry_voids() -> None:
    waits = coalescer()
    for update in (text("a"), text("b", kind="thinking"), progress(1), output("c")):
        waits.add(update, 0.0)
    waits.discard("text", "thinking", "tool_progress")
    assert waits.flush() == [output("c")]


def test_a_capture_sees_what_waits_and_takes_nothing() -> None:
    waits = coalescer()
    waits.add(text("a"), 0.0)
    waits.add(progress(1), 0.0)
    assert waits.waiting == waits.waiting == [text("a"), progress(1)]
    assert waits.flush() == [text("a"), progress(1)]


@examples(60)
@given(st.lists(st.text(st.sampled_from("aé漢😀"), max_size=40), max_size=20), st.integers(4, 40))
def test_text_is_cut_into_bounded_events_and_nothing_is_lost(deltas: list[str], limit_bytes: int) -> None:
    waits, published, end = coalescer(text_event_bytes=limit_bytes), [], 0
    for delta in deltas:
        published += waits.add(text(delta, end), 0.0)
        end += len(delta)
    published += waits.flush()

    joined = ""
    for item in published:
        assert item.data["offset_scalars"] == len(joined)
        assert 0 < len(item.data["text"].encode()) <= limit_bytes
        joined += item.data["text"]
    assert joined == "".join(deltas)


@examples(60)
@given(st.lists(st.text(st.sampled_from("aé漢😀"), min_size=1, max_size=60), min_size=1), st.integers(4, 40))
def test_output_keeps_its_newest_part_and_its_offset_tells_what_is_skipped(
    printed: list[str], limit_bytes: int
) -> None:
    waits, end = coalescer(output_event_bytes=limit_bytes), 0
    for line in printed:
        waits.add(output(line, end), 0.0)
        end += len(line)
        assert sum(len(item.data["text"].encode()) for item in waits.waiting) <= limit_bytes
    [event] = waits.flush()
    whole, kept, offset = "".join(printed), event.data["text"], event.data["offset_scalars"]

    assert whole[offset:] == kept
    assert len(kept.encode()) <= limit_bytes
    assert offset == 0 or len(whole[offset - 1 :].encode()) > limit_bytes


def test_a_flood_of_output_does_not_pile_up_while_it_waits() -> None:
    waits = coalescer(output_event_bytes=1_024)
    for number in range(200):
        waits.add(output("x" * 500, 500 * number), 0.0)
        assert deep_size(waits) < 6 * 1_024


def test_an_empty_delta_is_no_event() -> None:
    waits = coalescer()
    for update in (text(""), text("", kind="thinking"), output("")):
        assert waits.add(update, 0.0) == []
    assert waits.next_due is None


def test_output_of_two_calls_stays_apart() -> None:
    waits = coalescer()
    for update in (output("a"), output("b", 0, "c-1"), output("c", 1)):
        waits.add(update, 0.0)
    assert said(waits.flush()) == [("tool_output", 0, "a"), ("tool_output", 0, "b"), ("tool_output", 1, "c")]


def test_a_burst_that_nobody_wakes_for_is_published_before_it_grows() -> None:
    waits, published = coalescer(), []
    for number in range(1_000):
        published += waits.add(text("x", number, "thinking" if number % 2 else "text"), 0.0)
        assert len(waits.waiting) <= 64
    published += waits.flush()
    assert [item.data["offset_scalars"] for item in published] == list(range(1_000))


def test_a_lone_half_in_a_text_does_no_harm() -> None:
    waits = coalescer(text_event_bytes=8)
    waits.add(text("\ud83d" * 9), 0.0)
    assert sum(len(item.data["text"]) for item in waits.flush()) == 9


steps = st.lists(
    st.tuples(
        st.sampled_from(["text", "thinking", "output", "c-0", "c-1", "run c-0", "clear", "status", "due"]),
        st.floats(0, 0.08),
    ),
    max_size=60,
)


def story(updates: list[Update]) -> list[Any]:
    """What a reader knows after them: the texts in their order, and the newest progress of each call."""
    deltas = [item for item in updates if item.type in ("text", "thinking", "tool_output", "status")]
    texts = [
        (kind, "".join(item.data.get("text", "") for item in items))
        for kind, items in groupby(deltas, key=lambda item: item.type)
    ]
    calls: dict[str, Any] = {}
    for item in updates:
        if item.type == "tool_progress":
            shown = item.data["progress"]
            calls = {**calls, shown["call_id"]: (shown, item.immediate)} if shown else {}
    return [texts, calls]


@examples(150)
@given(steps)
def test_kinds_keep_their_order_however_they_are_shuffled(sequence: list[tuple[str, float]]) -> None:
    waits, added, published, now = coalescer(), [], [], 0.0
    ends = {"text": 0, "thinking": 0, "output": 0}
    for number, (kind, later) in enumerate(sequence):
        now += later
        if kind == "due":
            published += waits.due(now)
            assert waits.next_due is None or waits.next_due > now
            continue
        word = f"{number},"
        if kind == "output":
            update = output(word, ends[kind])
        elif kind in ends:
            update = text(word, ends[kind], kind)
        elif kind == "clear":
            update = CLEAR
        elif kind == "status":
            update = STATUS
        else:
            update = progress(number, kind[-3:], immediate=kind.startswith("run"))
        if kind in ends:
            ends[kind] += len(word)
        added.append(update)
        published += waits.add(update, now)
        assert story(published + waits.waiting) == story(added)
    published += waits.flush()
    assert story(published) == story(added)
    assert in_order(published)


def in_order(published: list[Update]) -> bool:
    """Numbers rise: each text holds those of its deltas, each progress its own."""
    numbers: list[int] = []
    for item in published:
        if item.data.get("text"):
            numbers += [int(word) for word in item.data["text"].split(",") if word]
        elif item.data.get("progress"):
            numbers.append(item.data["progress"]["arguments_chars"])
    return numbers == sorted(numbers)
