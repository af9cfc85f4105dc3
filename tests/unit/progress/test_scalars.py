from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streaming.progress.scalars import first_bytes, heal, join_halves, last_bytes, utf8_length
from tests.unit.progress.builders import any_text, examples, pieces, scalars


@examples(60)
@given(any_text, st.data())
def test_halves_meet_wherever_the_text_is_cut(text: str, data: st.DataObject) -> None:
    held, seen = "", ""
    for piece in pieces(text, data.draw(st.lists(st.integers(0, len(text))))):
        joined, held = join_halves(held, piece)
        seen += joined
        assert len(held) <= 1
    assert seen + heal(held) == scalars(text) == heal(text)


@examples(60)
@given(st.text(st.sampled_from("aé漢😀")), st.integers(0, 40))
def test_a_cut_keeps_the_most_that_fits_and_whole_characters(text: str, limit_bytes: int) -> None:
    first, last = first_bytes(text, limit_bytes), last_bytes(text, limit_bytes)

    assert text.startswith(first)
    assert text.endswith(last)
    assert utf8_length(first) <= limit_bytes < utf8_length(text[: len(first) + 1]) or first == text
    assert utf8_length(last) <= limit_bytes < utf8_length(text[-len(last) - 1 :]) or last == text


def test_the_length_counts_lone_halves_too() -> None:
    assert utf8_length("aé漢😀\ud83d") == 1 + 2 + 3 + 4 + 3
