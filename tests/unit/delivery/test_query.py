from __future__ import annotations

import pytest

from sessions_app.live import Cursor
from sessions_app.problems import InvalidRequest
from streaming.delivery.query import Query, no_query, parse_query


def test_nothing_is_no_cursor_and_the_usual_tail() -> None:
    assert parse_query(b"") == Query(None, 100)


def test_cursor_and_tail_are_read() -> None:
    assert parse_query(b"after_generation=3-9f2c1ab4&after_seq=42&tail=0") == Query(
        Cursor("3-9f2c1ab4", 42), 0
    )
    assert parse_query(b"tail=200").tail == 200


def test_a_last_event_id_is_a_cursor_and_the_query_wins() -> None:
    assert parse_query(b"", "3-a:7").cursor == Cursor("3-a", 7)
    assert parse_query(b"after_generation=4-b&after_seq=1", "3-a:7").cursor == Cursor("4-b", 1)
    assert parse_query(b"tail=5", "").cursor is None


@pytest.mark.parametrize("given", [b"after_generation=4-b", b"after_seq=1"])
def test_half_a_cursor_is_not_made_whole_by_a_last_event_id(given: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_query(given, "3-a:7")


@pytest.mark.parametrize("identity", ["7", ":7", "3-a:", "3-a", "3-a:7:8", "3-a:-7", "3-a:\u0667", "3 a:7"])
def test_a_malformed_last_event_id_is_refused(identity: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_query(b"", identity)


@pytest.mark.parametrize(
    "given",
    [
        b"a=1",
        b"tail",
        b"tail=1&tail=1",
        b"tail=+1",
        b"tail=1.0",
        b"tail=0201",
        b"tail=%D9%A1",
        b"tail=%ff",
        b"&&",
        b"after_seq=99999999999999999999&after_generation=1-a",
        b"x=1&" * 50 + b"tail=1",
        "tail=é".encode(),
    ],
)
def test_whatever_else_is_said_is_refused(given: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_query(given)


def test_the_list_takes_no_parameters() -> None:
    no_query(b"")
    with pytest.raises(InvalidRequest):
        no_query(b"tail=1")
