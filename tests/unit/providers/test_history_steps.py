"""Any history becomes turns in which every call has exactly one result."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.history_steps import NO_RESULT, Step, turns
from streaming.providers.types import AssistantItem, CallItem, Item, ResultItem, ThinkingItem, UserItem


def call(tool_call_id: str) -> CallItem:
    return CallItem(tool_call_id, "python", '{"code":"1"}')


def steps(items: list[Item]) -> list[Step]:
    return [turn for turn in turns(items) if isinstance(turn, Step)]


def test_thinking_text_and_calls_in_a_row_are_one_step() -> None:
    items: list[Item] = [
        UserItem("go"),
        ThinkingItem("hm"),
        AssistantItem("so"),
        call("a"),
        call("b"),
        ResultItem("a", "1"),
        ResultItem("b", "2"),
        ThinkingItem("then"),
        call("c"),
        ResultItem("c", "3"),
    ]
    first, second = steps(items)
    assert [(pair.wire_id, pair.result) for pair in first.paired] == [("a", "1"), ("b", "2")]
    assert [(pair.wire_id, pair.result) for pair in second.paired] == [("c", "3")]


def test_a_call_without_result_says_so() -> None:
    (step,) = steps([UserItem("go"), call("a"), UserItem("again")])
    assert step.paired[0].result == NO_RESULT


def test_a_result_of_nothing_and_a_second_result_are_left_out() -> None:
    (step,) = steps([ResultItem("x", "?"), call("a"), ResultItem("a", "1"), ResultItem("a", "2")])
    assert [pair.result for pair in step.paired] == ["1"]


def test_a_late_result_finds_its_call() -> None:
    items: list[Item] = [call("a"), UserItem("between"), ResultItem("a", "late")]
    assert steps(items)[0].paired[0].result == "late"


def test_thinking_alone_goes_back_to_nobody() -> None:
    assert steps([UserItem("go"), ThinkingItem("hm"), UserItem("well?")]) == []
    assert steps([UserItem("go"), AssistantItem("  "), UserItem("well?")]) == []


def test_an_id_that_came_twice_is_told_apart_with_its_result() -> None:
    items: list[Item] = [call("a"), ResultItem("a", "1"), call("a"), ResultItem("a", "2")]
    pairs = [pair for step in steps(items) for pair in step.paired]
    assert [(pair.wire_id, pair.result) for pair in pairs] == [("a", "1"), ("a-2", "2")]


def test_long_ids_are_shortened_and_stay_distinct() -> None:
    items: list[Item] = [call("x" * 100 + "1"), call("x" * 100 + "2")]
    ids = [pair.wire_id for step in steps(items) for pair in step.paired]
    assert len(set(ids)) == 2
    assert all(len(value) <= 64 for value in ids)


ITEMS = st.one_of(
    st.sampled_from(["u", "x y"]).map(UserItem),
    st.sampled_from(["", "t"]).map(ThinkingItem),
    st.sampled_from(["", " ", "a"]).map(AssistantItem),
    st.sampled_from(["a", "b", "z" * 90]).map(call),
    st.tuples(st.sampled_from(["a", "b", "z" * 90, "?"]), st.just("r")).map(lambda pair: ResultItem(*pair)),
)


@settings(max_examples=200)
@given(st.lists(ITEMS, max_size=20))
def test_whatever_the_history_every_call_is_kept_once_with_one_result(items: list[Item]) -> None:
    found = steps(items)
    pairs = [pair for step in found for pair in step.paired]
    assert len(pairs) == sum(isinstance(item, CallItem) for item in items)
    assert len({pair.wire_id for pair in pairs}) == len(pairs)
    assert all(step.says_something for step in found)
    kept = [turn for turn in turns(items) if isinstance(turn, UserItem)]
    assert kept == [item for item in items if isinstance(item, UserItem)]
