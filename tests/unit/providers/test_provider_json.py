"""JSON as vendors write it, and the one error where it is none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.provider_json import BadJson, dump, parse, parse_or_none


def test_nan_duplicate_keys_and_huge_numbers_are_let_through() -> None:
    assert math.isnan(parse('{"a":NaN}')["a"])
    assert parse('{"a":1,"a":2}') == {"a": 2}
    assert parse('{"a":1e999}') == {"a": math.inf}
    assert parse("1" * 5_000) == math.inf
    assert parse("-" + "1" * 5_000) == -math.inf


def test_a_lone_surrogate_is_let_through_and_not_written() -> None:
    value = parse('{"\\ud83d":"\\ud83d"}')
    assert value == {"\ud83d": "\ud83d"}
    assert dump(value) == '{"\ufffd":"\ufffd"}'


@pytest.mark.parametrize("text", ["", "{", "nul", '{"a":1}x', "[" * 100_000, '{"a":' * 100_000, "\ud83d"])
def test_what_is_no_json_is_one_error(text: str) -> None:
    with pytest.raises(BadJson) as caught:
        parse(text)
    assert text[:5] not in str(caught.value) or not text
    assert parse_or_none(text) is None


def test_a_value_too_deep_to_write_is_the_same_error() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadJson):
        dump(deep)
    while deep:
        # Taken down by hand: the interpreter would do it recursively.
        deep = deep.pop()  # type: ignore[assignment]


@settings(max_examples=150)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\u0d8123eE.-+NaIinfty ', max_size=40))
def test_any_bytes_are_json_or_that_error(data: bytes | str) -> None:
    try:
        parse(data)
    except BadJson:
        pass
