from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.limits import ProgressLimits
from streaming.progress.preview import Preview, PreviewWindow
from streaming.progress.sizes import deep_size
from tests.unit.progress.builders import KEY, any_text, cut, documents, examples, pieces, scalars

LIMITS = ProgressLimits()
unicode_text = st.text(st.sampled_from("aé漢😀\U0010ffff\0") | st.characters(codec="utf-8"), max_size=80)


@examples(150)
@given(
    st.lists(unicode_text, max_size=8),
    st.integers(1, 40),
    st.integers(4, 200),
    st.sets(st.integers(0, 8)),
)
def test_it_is_the_longest_end_within_both_bounds(
    texts: list[str], most_scalars: int, most_bytes: int, rests: set[int]
) -> None:
    window = PreviewWindow(ProgressLimits(preview_scalars=most_scalars, preview_bytes=most_bytes))
    for number, text in enumerate(texts):
        window.append(text)
        if number in rests:
            window.rest()
    whole, shown = "".join(texts), window.text

    assert window.offset_scalars + len(shown) == len(whole)
    assert whole.endswith(shown)
    assert len(shown) <= most_scalars
    assert len(shown.encode()) <= most_bytes
    if shown != whole:
        longer = whole[-len(shown) - 1 :]
        assert len(longer) > most_scalars or len(longer.encode()) > most_bytes


@examples(80)
@given(data=st.data(), document=documents(), most_scalars=st.integers(1, 30))
def test_a_preview_is_the_end_of_the_decoded_value(
    data: st.DataObject, document: str, most_scalars: int
) -> None:
    preview = Preview(KEY, ProgressLimits(preview_scalars=most_scalars))
    for fragment in data.draw(cut(document)):
        preview.feed(fragment)
        if data.draw(st.booleans()):
            preview.rest()
    value = scalars(json.loads(document).get(KEY, ""))

    assert preview.text == value[-most_scalars:]
    assert preview.offset_scalars == max(0, len(value) - most_scalars)


@pytest.mark.parametrize("character", ["a", "é", "漢", "😀", "\U0010ffff", "\0"])
def test_at_rest_512_scalars_of_any_kind_take_1368_bytes_at_most(character: str) -> None:
    window = PreviewWindow(LIMITS)
    window.append("x" * 9 + character * 600)
    window.rest()

    assert (window.text, window.offset_scalars) == (character * 512, 97)
    assert window.stored_bytes() <= 1_368
    assert window.utf8_bytes() == len(character.encode()) * 512
    assert window.size() <= deep_size(window)


@examples(60)
@given(any_text.map(scalars), st.integers(0, 100), st.booleans())
def test_shortening_takes_from_the_left_and_keeps_the_offset_exact(
    text: str, count: int, rests: bool
) -> None:
    window = PreviewWindow(LIMITS)
    window.append(text)
    if rests:
        window.rest()
    window.shorten(count)

    assert window.text == text[count:]
    assert window.offset_scalars == min(count, len(text))
    window.append("more")
    assert window.text == text[count:] + "more"


def test_a_dropped_preview_holds_no_text() -> None:
    preview = Preview(KEY, LIMITS)
    preview.feed('{"code":"abc')
    assert (preview.text, preview.dropped) == ("abc", False)
    preview.feed("\x01")
    assert (preview.text, preview.dropped) == ("", True)
    assert preview.key == KEY


def test_a_long_argument_in_small_fragments_ends_in_its_last_scalars() -> None:
    code = "".join(f"print('é{number}', \"漢😀\")\n" for number in range(5_000))
    for ensure_ascii in (True, False):
        raw = json.dumps({KEY: code}, ensure_ascii=ensure_ascii)
        preview = Preview(KEY, LIMITS)
        for fragment in pieces(raw, range(64, len(raw), 64)):
            preview.feed(fragment)
        assert (preview.text, preview.offset_scalars) == (code[-512:], len(code) - 512)
