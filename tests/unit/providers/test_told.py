"""What was told, and what a statement of the whole adds."""

from __future__ import annotations

from streaming.providers.told import Told


def told(*pieces: str) -> Told:
    found = Told()
    for piece in pieces:
        found.add(piece)
    return found


def test_a_whole_adds_what_was_not_told() -> None:
    assert told().untold("abc") == "abc"
    assert told("a", "b").untold("abc") == "c"
    assert told("a", "b").untold("ab") == ""


def test_what_is_no_continuation_adds_nothing() -> None:
    assert told("a", "b").untold("a") is None
    assert told("a", "b").untold("xyz") is None


def test_the_tail_is_found_over_pieces() -> None:
    assert told("ab", "c", "d").ends_with("bcd")
    assert told("ab").ends_with("")
    assert not told("b").ends_with("ab")
    assert not told().ends_with("a")
