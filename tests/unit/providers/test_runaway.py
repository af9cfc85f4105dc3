"""Runs of one blank character, however the text is cut."""

from __future__ import annotations

import json
import re
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.runaway import RunCounter

BLANKS = [" ", "\n", "\t", "\r", "\x00", "\x1b", "\x7f", "\x0b", "\u2028", "\u3000", "\x85"]


def found(fragments: list[str], *, limit: int = 8, escapes: bool = True) -> int:
    counter = RunCounter(limit, escapes=escapes)
    return max([counter.feed(fragment) for fragment in fragments], default=0)


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_run_is_found_at_its_limit_and_not_below(blank: str, size: int) -> None:
    assert found(cut("ab" + blank * 7 + "cd", size)) == 0
    assert found(cut("ab" + blank * 8 + "cd", size)) == 8


@pytest.mark.parametrize("escape", ["\\n", "\\t", "\\r", "\\u0000", "\\u001f", "\\u0020", "\\u2028"])
@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 100])
def test_in_json_text_an_escape_counts_as_its_character(escape: str, size: int) -> None:
    assert found(cut('{"code":"' + escape * 7 + '"}', size)) == 0
    assert found(cut('{"code":"' + escape * 8 + '"}', size)) == 8


def test_in_plain_text_a_backslash_is_a_backslash() -> None:
    assert found(["\\n" * 50], escapes=False) == 0


@pytest.mark.parametrize("text", ["x" * 50, "ab" * 50, " \n" * 50, "\\\\n" * 50, "\\u0041" * 50, "0" * 50])
def test_what_is_no_run_of_one_blank_is_none(text: str) -> None:
    for size in (1, 4, 200):
        assert found(cut(text, size)) == 0


def test_a_run_that_broke_in_the_fragment_that_reached_the_limit_counts() -> None:
    assert found([" " * 5, " " * 4 + "x"]) == 9
    assert found([" " * 5, "x" + " " * 4]) == 0


def test_a_long_run_inside_one_fragment_counts() -> None:
    assert found(["x" + "\n" * 20 + "y"]) == 20


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from([" ", "\n", "x", "\\n", "\\t", "\\u0000"]), st.integers(1, 30))),
    st.integers(1, 40),
)
def test_cuts_change_nothing(runs: list[tuple[str, int]], size: int) -> None:
    text = "".join(unit * count for unit, count in runs)
    units = re.findall(r"\\u0000|\\[nt]|.", text, re.S)
    longest = max([len(list(group)) for unit, group in groupby(units) if unit != "x"], default=0)
    seen = found(cut(text, size), limit=16)
    assert (seen >= 16) == (longest >= 16)


def test_real_code_is_no_runaway() -> None:
    code = "\n".join(f"{' ' * (index % 40)}value_{index} = {index}" for index in range(2_000))
    assert found(cut(json.dumps({"code": code}), 64), limit=8_192) == 0


def test_it_keeps_the_run_and_not_the_text() -> None:
    counter = RunCounter(8_192, escapes=True)
    for _ in range(100):
        counter.feed("some text of a call " * 50 + "\\")
    kept = [getattr(counter, name) for name in counter.__slots__]
    assert sum(len(value) for value in kept if isinstance(value, str)) < 10
