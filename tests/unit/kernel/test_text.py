"""Text made safe, and kept by its two ends."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from streaming.kernel.text import BoundedText, clean, cut_middle, without_ansi

MARK = re.compile(r"\n\.\.\. (\d+) characters left out \.\.\.\n")
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def parts(text: str) -> tuple[str, int, str]:
    match = MARK.search(text)
    assert match is not None
    return text[: match.start()], int(match[1]), text[match.end() :]


def test_nul_and_lone_surrogates_are_replaced_and_nothing_else() -> None:
    assert clean("a\0b\ud83d\ude00c😀é\r\n") == "a\ufffdb\ufffd\ufffdc😀é\r\n"


def test_colours_and_links_are_taken_out() -> None:
    assert without_ansi("\x1b[0;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"


def test_short_text_is_not_cut() -> None:
    assert cut_middle("é" * 5, 10) == "é" * 5


def test_a_cut_says_how_many_characters_are_gone() -> None:
    head, missing, tail = parts(cut_middle("a" * 10 + "é" * 100 + "z" * 10, 40))
    assert (head, tail) == ("a" * 10 + "é" * 5, "é" * 5 + "z" * 10)
    assert missing == 90


@given(st.lists(ANY_TEXT, max_size=12), st.integers(4, 40))
def test_what_is_kept_and_what_is_counted_is_all_there_was(pieces: list[str], limit: int) -> None:
    text = BoundedText(2 * limit, limit // 2)
    for piece in pieces:
        text.append(piece)
    everything = "".join(pieces)
    for kept, size in ((text.whole(), 2 * limit), (text.shortened(limit), limit)):
        if MARK.search(kept) is None:
            assert kept == everything
            continue
        head, missing, tail = parts(kept)
        assert everything.startswith(head)
        assert everything.endswith(tail)
        assert len(head) + missing + len(tail) == len(everything)
        assert len((head + tail).encode()) <= size


@given(st.lists(ANY_TEXT, max_size=12))
def test_text_within_the_bound_is_whole(pieces: list[str]) -> None:
    text = BoundedText(40 * 12 * 4, 8)
    for piece in pieces:
        text.append(piece)
    assert text.shortened(40 * 12 * 4) == "".join(pieces)


def test_a_flood_keeps_no_more_than_its_bound() -> None:
    text = BoundedText(1_000, 100)
    for _ in range(10_000):
        text.append("0123456789")
    assert len(text._head) + len(text._tail) <= 1_000 + 100
    assert text.is_longer_than(1_000)


def test_it_knows_whether_a_line_is_open() -> None:
    text = BoundedText(100, 10)
    seen = [text.ends_line]
    for piece in ("a", "", "\n", "b"):
        text.append(piece)
        seen.append(text.ends_line)
    assert seen == [True, False, False, True, False]
