from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.feed import tails


@settings(max_examples=80)
@given(st.lists(st.text(max_size=8), max_size=12), st.integers(4, 24))
def test_a_window_is_the_longest_end_of_the_whole_that_fits_however_it_came(
    pieces: list[str], max_bytes: int
) -> None:
    tail, whole = tails.EMPTY, ""
    for piece in pieces:
        tail = tails.extend(tail, len(whole), piece, max_bytes)
        whole += piece
        # Once more changes nothing.
        assert tails.extend(tail, len(whole) - len(piece), piece, max_bytes) == tail
    assert whole[tail["offset_scalars"] :] == tail["text"]
    assert len(tail["text"].encode()) <= max_bytes
    if tail["offset_scalars"]:
        assert len(whole[tail["offset_scalars"] - 1 :].encode()) > max_bytes


def test_a_text_that_overlaps_adds_only_what_is_new() -> None:
    tail = tails.extend(tails.EMPTY, 0, "abc", 100)
    assert tails.extend(tail, 1, "bcde", 100) == {"offset_scalars": 0, "text": "abcde"}


def test_a_text_behind_a_gap_starts_anew() -> None:
    tail = tails.extend(tails.EMPTY, 0, "abc", 100)
    assert tails.extend(tail, 10, "xyz", 100) == {"offset_scalars": 10, "text": "xyz"}
