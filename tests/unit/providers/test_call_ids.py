"""Ids of calls: kept where they are good, made where not, shortened the same way for call and result."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.call_ids import assign_tool_call_ids, clean_native_id, wire_call_id
from streaming.providers.types import AssembledCall


def calls(*native_ids: str) -> list[AssembledCall]:
    return [AssembledCall(slot, native_id, "python", "{}") for slot, native_id in enumerate(native_ids)]


def test_native_ids_are_kept() -> None:
    assert assign_tool_call_ids(calls("a", "b"), set()) == ["a", "b"]


@pytest.mark.parametrize("placeholder", ["", "null", "None", " ", "undefined"])
def test_a_placeholder_is_replaced(placeholder: str) -> None:
    (made,) = assign_tool_call_ids(calls(placeholder), set())
    assert made.startswith("call_")


def test_ids_are_distinct_within_and_across_turns() -> None:
    used: set[str] = set()
    first = assign_tool_call_ids(calls("a", "a", "", ""), used)
    second = assign_tool_call_ids(calls("a", "b", "b", ""), used)
    assert first[0] == "a"
    assert second[1] == "b"
    assert len(set(first + second)) == 8
    assert used == set(first + second)


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["a", "b", "", "null"]), max_size=8), st.sets(st.sampled_from(["a", "b"])))
def test_assigning_is_deterministic_and_distinct(native_ids: list[str], used: set[str]) -> None:
    found = assign_tool_call_ids(calls(*native_ids), set(used))
    assert found == assign_tool_call_ids(calls(*native_ids), set(used))
    assert len(set(found) | used) == len(found) + len(used)


@pytest.mark.parametrize("max_len", [40, 64])
def test_a_long_id_is_shortened_alike_every_time(max_len: int) -> None:
    long, other = "toolu_" + "x" * 100, "toolu_" + "x" * 101
    assert wire_call_id(long, max_len) == wire_call_id(long, max_len)
    assert wire_call_id(long, max_len) != wire_call_id(other, max_len)
    assert len(wire_call_id(long, max_len)) == max_len
    assert wire_call_id("x" * max_len, max_len) == "x" * max_len


def test_a_short_id_shortens_to_itself() -> None:
    shortened = wire_call_id("x" * 100)
    assert wire_call_id(shortened) == shortened


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        (7, "7"),
        (0, "0"),
        (True, ""),
        (None, ""),
        (1.5, ""),
        ([], ""),
        (1 << 80, ""),
        ("NULL", ""),
    ],
)
def test_what_counts_as_a_native_id(value: object, expected: str) -> None:
    assert clean_native_id(value) == expected
