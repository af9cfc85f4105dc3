"""Thinking between tags at the head of a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.think_tags import ThinkSplitter

HEADS = {
    "<think>plan</think>\n\n4": ("plan", "4"),
    "\n <think>plan</think>4": ("plan", "4"),
    "<thought>plan</thought>4": ("plan", "4"),
    "<think>a</think>\n<think>b</think>\n4": ("ab", "4"),
    "</think>\n\n4": ("", "4"),
    "<think></think>4": ("", "4"),
    "<think>a</thin b</think>4": ("a</thin b", "4"),
    "<think>never closed": ("never closed", ""),
    "<think>cut </thi": ("cut </thi", ""),
    "4 <think>x</think>": ("", "4 <think>x</think>"),
    "<thinner>": ("", "<thinner>"),
    "<thi": ("", "<thi"),
    "  4": ("", "  4"),
    "  ": ("", "  "),
    "": ("", ""),
    " " * 100 + "<think>": ("", " " * 100 + "<think>"),
}


def split(*fragments: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    pieces = [piece for fragment in fragments for piece in splitter.feed(fragment)] + splitter.flush()
    assert all(piece.text for piece in pieces)
    thinking = "".join(piece.text for piece in pieces if piece.thinking)
    return thinking, "".join(piece.text for piece in pieces if not piece.thinking)


@pytest.mark.parametrize(("text", "expected"), HEADS.items())
def test_only_the_head_is_split_however_it_is_cut(text: str, expected: tuple[str, str]) -> None:
    fragments = [text] if text else []
    assert split(*fragments) == expected
    assert split(*text) == expected
    for at in range(1, len(text)):
        assert split(text[:at], text[at:]) == expected


def test_text_is_not_held_back_longer_than_needed() -> None:
    splitter = ThinkSplitter()
    assert [piece.text for piece in splitter.feed("<b")] == ["<b"]
    assert [piece.text for piece in splitter.feed("<think>")] == ["<think>"]


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "/", "thi", "nk>", "x", " ", "\n"]), max_size=10)
)
def test_nothing_but_tags_and_blanks_is_lost(fragments: list[str]) -> None:
    text = "".join(fragments)
    thinking, answer = split(text) if text else ("", "")
    assert split(*fragments) == (thinking, answer)
    kept = thinking + answer
    for dropped in ("<think>", "</think>"):
        text, kept = text.replace(dropped, ""), kept.replace(dropped, "")
    assert "".join(kept.split()) == "".join(text.split())
