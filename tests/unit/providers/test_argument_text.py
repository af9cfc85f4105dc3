"""One argument text, from all the ways in which servers tell it."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.argument_text import ArgumentText, plain_arguments, same_arguments

WHOLE = '{"code":"print(1)"}'


def put_together(*fragments: str, stated: tuple[str, ...] = ()) -> ArgumentText:
    """Adds, states, finishes; asserts that the edits tell the same text."""
    arguments, told = ArgumentText(), ""
    edits = [edit for fragment in fragments for edit in arguments.add(fragment)]
    edits += [edit for text in stated for edit in arguments.state(text)]
    edits += arguments.finish()
    for edit in edits:
        told = edit.text if edit.replaces else told + edit.text
    assert told == arguments.text
    assert arguments.chars == len(arguments.text)
    return arguments


def test_fragments_are_joined() -> None:
    assert put_together('{"code":', '"print', '(1)"}').text == WHOLE


def test_a_fragment_that_begins_with_all_before_it_replaces_it() -> None:
    assert put_together('{"co', '{"code":"pri', WHOLE).text == WHOLE


def test_cumulative_fragments_are_known_also_where_a_value_would_follow() -> None:
    assert put_together('{"code":', '{"code":"print(1)"', WHOLE).text == WHOLE
    assert put_together('{"code":', WHOLE).text == WHOLE


def test_a_nested_object_that_looks_cumulative_is_not_lost() -> None:
    assert put_together('{"a":', '{"a":1}', "}").text == '{"a":{"a":1}}'
    assert put_together('{"a":', '{"a":', "1}}").text == '{"a":{"a":1}}'


def test_text_that_repeats_itself_inside_a_string_is_kept() -> None:
    fragments = ['{"code":"', "ha", "ha", "haha", '"}']
    assert put_together(*fragments).text == "".join(fragments)


@pytest.mark.parametrize(
    "repeat",
    [WHOLE, json.dumps(WHOLE), '{ "code" : "print(1)" }', '{"code":"print(\\u0031)"}'],
    ids=["the same", "encoded again", "spaced", "escaped"],
)
def test_a_repeat_behind_the_end_is_forgotten(repeat: str) -> None:
    assert put_together(*WHOLE, repeat).text == WHOLE
    assert put_together(*WHOLE, *repeat).text == WHOLE


def test_what_is_no_repeat_stays_and_makes_the_text_malformed() -> None:
    arguments = put_together(WHOLE, '{"code":"print(2)"}')
    assert arguments.text == WHOLE + '{"code":"print(2)"}'
    assert arguments.complete


def test_endless_text_behind_the_end_is_told_as_it_comes() -> None:
    arguments = ArgumentText()
    arguments.add("{}")
    edits = [edit for _ in range(40) for edit in arguments.add("x" + " " * 50)]
    assert sum(len(edit.text) for edit in edits) > 1_000


def test_an_empty_object_in_the_head_is_a_placeholder() -> None:
    assert put_together("{}", '{"code":', '"print(1)"}').text == WHOLE
    assert put_together("{}").text == "{}"
    assert put_together("{}", "{}").text == "{}"


@pytest.mark.parametrize("nothing", ["", " ", "null", '""', '"null"', '"{}"'])
def test_nothing_is_an_empty_object(nothing: str) -> None:
    arguments = put_together(nothing) if nothing.strip() else ArgumentText()
    assert plain_arguments(nothing) == "{}"
    assert arguments.complete


def test_double_encoding_is_undone_at_the_end() -> None:
    assert put_together(*json.dumps(WHOLE)).text == WHOLE
    assert put_together(json.dumps(json.dumps(WHOLE))).text == WHOLE


def test_a_string_that_holds_no_object_stays_a_string() -> None:
    assert put_together('"print(1)"').text == '"print(1)"'


def test_raw_controls_in_strings_are_escaped() -> None:
    arguments = put_together('{"code":\n"a\n', '\tb\x01"}')
    assert json.loads(arguments.text) == {"code": "a\n\tb\x01"}


def test_malformed_text_that_closes_is_left_alone() -> None:
    arguments = put_together("{'code': 'x'}")
    assert arguments.text == "{'code': 'x'}"
    assert arguments.complete


@pytest.mark.parametrize("text", ["{", '{"code":"pri', '["x"', '"{', '{"a":{"b":1}', '"{\\"code\\":\\"x"'])
def test_json_that_never_closes_is_incomplete(text: str) -> None:
    assert not put_together(text).complete


@pytest.mark.parametrize("text", ["print(1)", "tru", "12", "}"])
def test_words_have_no_end_to_wait_for(text: str) -> None:
    assert put_together(text).complete


def test_a_statement_completes_the_fragments() -> None:
    assert put_together('{"code":"pri', stated=(WHOLE,)).text == WHOLE
    assert put_together(stated=(WHOLE, "", "null", WHOLE)).text == WHOLE


def test_a_statement_replaces_fragments_that_were_wrong() -> None:
    assert put_together('{"code":"XX', stated=(WHOLE,)).text == WHOLE


@pytest.mark.parametrize("later", ["", "{", '{"co', "garbage", json.dumps(WHOLE), '{ "code":"print(1)"}'])
def test_a_lesser_statement_takes_nothing_away(later: str) -> None:
    assert put_together(WHOLE, stated=(later,)).text == WHOLE


def test_halves_of_a_surrogate_pair_meet() -> None:
    assert put_together('{"a":"\ud83d', '\ude00"}').text == '{"a":"😀"}'
    assert put_together('{"a":"\ud83d', 'x"}').text == '{"a":"\ufffdx"}'


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a":1}', '{"a": 1}', True),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', True),
        ('{"a":1}', '{"a":true}', False),
        ('{"a":1}', '{"a":1.0}', False),
        ("{", "{", True),
        ("{", "[", False),
        ("[" * 2_000 + "]" * 2_000, "[" * 1_999 + "]" * 1_999, False),
    ],
)
def test_equal_arguments(one: str, other: str, same: bool) -> None:
    assert same_arguments(one, other) is same


values = st.dictionaries(st.text(max_size=4), st.recursive(st.text() | st.integers(), st.lists, max_leaves=5))


@settings(max_examples=150)
@given(value=values, cuts=st.lists(st.integers(0, 200), max_size=8), ascii_only=st.booleans())
def test_any_cut_of_any_object_gives_that_object(value: object, cuts: list[int], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    marks = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    fragments = [text[a:b] for a, b in itertools.pairwise(marks)]
    assert json.loads(put_together(*fragments).text) == value


@settings(max_examples=100)
@given(value=values, cuts=st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_any_cumulative_telling_gives_that_object(value: object, cuts: list[int]) -> None:
    text = json.dumps(value)
    lengths = [*sorted(1 + cut % len(text) for cut in cuts), len(text)]
    assert json.loads(put_together(*(text[:length] for length in lengths)).text) == value


@settings(max_examples=150)
@given(st.lists(st.text(alphabet='{}[]":,\\a 1\ud83d\ude00'), max_size=12))
def test_any_fragments_at_all_are_put_together(fragments: list[str]) -> None:
    put_together(*fragments)
