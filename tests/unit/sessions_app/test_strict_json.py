"""The body parser takes what every reader reads the same, and nothing else."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.api.strict_json import MAX_DEPTH, escape, parse
from sessions_app.problems import InvalidRequest

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.just("k") | st.just("é"), inner, max_size=2)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_it_reads_what_others_write(value: Any) -> None:
    assert parse(json.dumps(value).encode()) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary(max_size=60))
def test_whatever_bytes_come_there_is_a_value_or_a_refusal(data: bytes) -> None:
    with contextlib.suppress(InvalidRequest):
        parse(data)


def test_nesting_is_bounded_exactly() -> None:
    def nested(depth: int) -> bytes:
        return b"[" * depth + b"]" * depth

    parse(nested(MAX_DEPTH - 1))
    with pytest.raises(InvalidRequest):
        parse(nested(MAX_DEPTH + 1))
    with pytest.raises(InvalidRequest):
        parse(nested(100_000))


def test_a_refused_text_is_pointed_at() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(b'{"a": [{"b/c": "\\u0000"}]}')
    assert caught.value.fields == ["/a/0/b~1c"]


def test_a_pointer_is_not_longer_than_is_useful() -> None:
    assert len(escape("x" * 10_000)) == 100
