"""Where a JSON value ends, fragment by fragment."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.json_shape import JsonShape

values = st.recursive(
    st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
)


@settings(max_examples=200)
@given(values, st.text(alphabet='{}[]" \\', max_size=6), st.integers(1, 5))
def test_it_closes_exactly_at_the_end_of_the_value(value: object, behind: str, size: int) -> None:
    written = json.dumps(value, ensure_ascii=False)
    text = f"  {written}{behind}"
    shape, end = JsonShape(), None
    for at in range(0, len(text), size):
        found = shape.feed(text[at : at + size])
        assert found is None or end is None
        end = at + found if found is not None else end
    assert end == 2 + len(written)
    assert shape.closed


@pytest.mark.parametrize("text", ["", "  ", "{", '{"a', '{"a\\"', "[[]", '"', '"\\'])
def test_it_stays_open_before(text: str) -> None:
    shape = JsonShape()
    assert shape.feed(text) is None
    assert not (shape.closed)
    assert not (shape.unbounded)


@pytest.mark.parametrize("text", ["1", "true", "print({})", "}", " x"])
def test_what_has_no_end_is_unbounded(text: str) -> None:
    shape = JsonShape()
    shape.feed(text)
    assert shape.unbounded
    assert not shape.closed
