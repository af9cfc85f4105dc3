"""Halves of UTF-16 pairs in text."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.surrogates import SurrogateJoiner, mend

ODD = st.text(alphabet=st.sampled_from("a\ud83d\ude00é😀\ud800\udfff"), max_size=12)


def test_pairs_are_joined_and_lone_halves_replaced() -> None:
    assert mend("a\ud83d\ude00b\ud83dc\ude00") == "a😀b\ufffdc\ufffd"


@settings(max_examples=200)
@given(ODD, st.lists(st.integers(0, 12), max_size=4))
def test_any_cut_gives_what_the_whole_gives(text: str, cuts: list[int]) -> None:
    marks = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    joiner = SurrogateJoiner()
    told = [joiner.feed(text[a:b]) for a, b in itertools.pairwise(marks)]
    assert "".join(told) + joiner.flush() == mend(text)
    for piece in told:
        piece.encode()


def test_clean_text_is_passed_on_as_it_is() -> None:
    text = "é😀" * 3
    assert SurrogateJoiner().feed(text) is text
