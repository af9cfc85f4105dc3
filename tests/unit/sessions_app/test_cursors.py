"""Tokens open only the list that they were made for; cursors are digits or nothing."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.cursors import make_token, parse_cursor, read_token
from sessions_app.live import Cursor
from sessions_app.problems import InvalidRequest


@given(st.lists(st.integers() | st.text(max_size=5), min_size=1, max_size=3))
def test_a_token_gives_its_position_back_to_its_own_query(position: list[int | str]) -> None:
    query = ["history", uuid4(), None]
    assert read_token(query, make_token(query, position)) == position


def test_a_token_is_useless_elsewhere() -> None:
    token = make_token(["runs", 1], [5])
    for query in (["runs", 2], ["inputs", 1], ["runs"], ["runs", 1, None], ["runs", "1"]):
        with pytest.raises(InvalidRequest):
            read_token(query, token)


@given(st.text(max_size=80))
def test_a_forged_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidRequest):
        read_token(["runs", 1], token)


def test_each_changed_character_spoils_a_token() -> None:
    token = make_token(["runs", 1], [5])
    for index, char in enumerate(token):
        spoilt = token[:index] + ("A" if char != "A" else "B") + token[index + 1 :]
        with pytest.raises(InvalidRequest):
            read_token(["runs", 1], spoilt)


def test_a_very_long_token_is_not_even_read() -> None:
    with pytest.raises(InvalidRequest):
        read_token(["runs", 1], "x" * 1_000_000)


def test_a_cursor_is_both_halves_or_none() -> None:
    assert parse_cursor(None, None) is None
    assert parse_cursor("3-9f2c1ab4", "0042") == Cursor("3-9f2c1ab4", 42)
    for half in (("3-a", None), (None, "4"), ("", "4"), ("3-a", "")):
        with pytest.raises(InvalidRequest):
            parse_cursor(*half)


@given(st.text(max_size=25))
def test_a_sequence_is_at_most_eighteen_ascii_digits(text: str) -> None:
    good = text.isascii() and text.isdigit() and 1 <= len(text) <= 18
    try:
        found = parse_cursor("1-a", text)
    except InvalidRequest:
        assert not good
    else:
        assert good
        assert found == Cursor("1-a", int(text))
