"""JSON documents, cuts of them, and what a preview of them must say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

KEY = "code"
STARTED = "2026-01-02T03:04:05.678901Z"


def examples(count: int) -> settings:
    """How many to try. Without a deadline: how fast this machine is at the moment is not what is tested."""
    return settings(max_examples=count, deadline=None)


def pieces(text: str, cuts: Iterable[int]) -> list[str]:
    """`text` cut at each of `cuts`."""
    return [text[start:end] for start, end in pairwise([0, *sorted(cuts), len(text)])]


def every_cut_in_two_and_three(text: str) -> Iterator[list[str]]:
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            yield pieces(text, (first, second))


def scalars(text: str) -> str:
    """What a reader of UTF-16 makes of it: pairs are joined, a lone half is U+FFFD."""
    shown: list[str] = []
    position = 0
    while position < len(text):
        code = ord(text[position])
        after = ord(text[position + 1]) if position + 1 < len(text) else 0
        if 0xD800 <= code < 0xDC00 and 0xDC00 <= after < 0xE000:
            shown.append(chr(0x10000 + (code - 0xD800 << 10) + (after - 0xDC00)))
            position += 2
            continue
        shown.append("\ufffd" if 0xD800 <= code < 0xE000 else chr(code))
        position += 1
    return "".join(shown)


any_text = st.text(st.characters(exclude_categories=[]), max_size=60) | st.text(
    st.sampled_from('ab"\\/\n\t\x00\x7fé漢😀\u2028\ud83d\ude00\udbff'), max_size=60
)
_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text
)
values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.just(KEY) | any_text, inner, max_size=4),
    max_leaves=12,
)
_plain_keys = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8).filter(
    lambda key: not set(key) & set('"\\') and key != KEY
)
_space = st.text(st.sampled_from(" \t\r\n"), max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Objects with the preview key at any place, in any spelling of values and any white space."""
    members = list(draw(st.dictionaries(_plain_keys, values, max_size=4)).items())
    if draw(st.booleans()):
        members.insert(draw(st.integers(0, len(members))), (KEY, draw(any_text)))
    return _spaced(draw, "{", ",".join(_member(draw, key, value) for key, value in members), "}")


def _member(draw: st.DrawFn, key: str, value: Any) -> str:
    return _spaced(draw, json.dumps(key, ensure_ascii=False), ":", _spell(draw, value))


def _spaced(draw: st.DrawFn, *tokens: str) -> str:
    return "".join(f"{draw(_space)}{token}{draw(_space)}" for token in tokens)


def _spell(draw: st.DrawFn, value: Any) -> str:
    return json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, None, 2])))


@st.composite
def cut(draw: st.DrawFn, text: str) -> Sequence[str]:
    if draw(st.booleans()):
        return list(text)
    return pieces(text, draw(st.lists(st.integers(0, len(text)), max_size=12)))
