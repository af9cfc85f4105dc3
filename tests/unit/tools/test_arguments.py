"""What a model wrote as arguments: read strictly, fitted fairly, refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.tools.arguments import BadArguments, cleaned, fit, parse_object

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["code"],
}


@pytest.mark.parametrize("text", ["", "  \n", "{}", " {} "])
def test_nothing_is_an_empty_object(text: str) -> None:
    assert parse_object(text) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"code": "a', "not valid JSON: Unterminated string"),
        ('{"code": 1,}', "at character"),
        ("{'code': 1}", "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ("[1]", "must be a JSON object, not an array"),
        ("null", "not null"),
        ('"a"', "not a string"),
        ("true", "not a boolean"),
        ("1", "not a number"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' + "9" * 5_000 + "}", "too many digits"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(BadArguments, match=words):
        parse_object(text)


def test_of_a_repeated_key_the_last_value_stands() -> None:
    assert parse_object('{"a": 1, "a": 2}') == {"a": 2}


def test_text_that_cannot_be_stored_everywhere_is_replaced_at_any_depth() -> None:
    assert parse_object('{"a\\u0000": ["\\ud800", {"b": "\\ud83d\\ude00"}]}') == {
        "a\ufffd": ["\ufffd", {"b": "😀"}]
    }


def test_a_cycle_of_depth_is_refused_when_parsed_elsewhere() -> None:
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"a": value}
    with pytest.raises(BadArguments, match="nested too deeply"):
        cleaned(value)
    # Taken apart by hand: the interpreter would do it recursively.
    while value:
        value = value.pop("a")


def test_what_the_schema_does_not_name_is_passed_over() -> None:
    assert fit(SCHEMA, {"code": "a", "extra": 1}) == {"code": "a"}


def test_unless_it_forbids_or_wants_them() -> None:
    with pytest.raises(BadArguments, match="extra"):
        fit({**SCHEMA, "additionalProperties": False}, {"code": "a", "extra": 1})
    wanting = {**SCHEMA, "additionalProperties": {"type": "integer"}}
    assert fit(wanting, {"code": "a", "extra": 1}) == {"code": "a", "extra": 1}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "'code' is a required property"),
        ({"code": 1}, "at /code: 1 is not of type 'string'"),
        ({"code": "a", "n": 0}, "at /n: 0 is less than the minimum of 1"),
    ],
)
def test_a_violation_says_where_and_what(value: dict[str, Any], words: str) -> None:
    with pytest.raises(BadArguments, match=words):
        fit(SCHEMA, value)


def test_a_violation_does_not_quote_a_long_value() -> None:
    with pytest.raises(BadArguments) as caught:
        fit(SCHEMA, {"code": ["x" * 1_000_000]})
    assert len(str(caught.value)) < 500
    assert "is not of type 'string'" in str(caught.value)


@given(st.text(max_size=30) | st.recursive(st.none() | st.floats(), st.lists, max_leaves=5).map(json.dumps))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        assert isinstance(parse_object(text), dict)
    except BadArguments:
        pass
