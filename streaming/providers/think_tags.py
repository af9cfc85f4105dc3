"""Thinking that a server leaves in the text, between tags at its head, told from the answer.

Only the head counts: a model may write about `<think>` further on.
"""

from __future__ import annotations

from typing import NamedTuple

_OPENERS = ("<think>", "<thought>")
_CLOSERS = ("</think>", "</thought>")
_TAGS = _OPENERS + _CLOSERS
# More whitespace than this before a tag is no head any more; it also bounds what is looked at again.
_MAX_HELD = 64


class Piece(NamedTuple):
    text: str
    thinking: bool


class ThinkSplitter:
    """`feed` text fragments in order; `flush` gives what was held back as the possible start of a tag."""

    def __init__(self) -> None:
        self._answering = False
        self._held = ""
        self._closer = ""
        self._seen_tag = False

    def feed(self, text: str) -> list[Piece]:
        if self._answering:
            return [Piece(text, thinking=False)]
        text, self._held = self._held + text, ""
        pieces: list[Piece] = []
        while text and not self._answering:
            text = self._inside(text, pieces) if self._closer else self._head(text)
        if text:
            pieces.append(Piece(text, thinking=False))
        return pieces

    def flush(self) -> list[Piece]:
        held, self._held = self._held, ""
        if not held:
            return []
        return [Piece(held, thinking=bool(self._closer))]

    def _head(self, text: str) -> str:
        """Before the answer: the text still to be read, "" where it has to wait."""
        bare = text.lstrip()
        if self._seen_tag:
            text = bare
        head = len(text) - len(bare) <= _MAX_HELD
        if head and any(tag.startswith(bare) and tag != bare for tag in _TAGS):
            self._held = text
            return ""
        tag = next((tag for tag in _TAGS if bare.startswith(tag)), None) if head else None
        if tag is None:
            self._answering = True
            return text
        self._seen_tag = True
        # A closer that nothing opened is left over from thinking that came in a field of its own.
        if tag in _OPENERS:
            self._closer = _CLOSERS[_OPENERS.index(tag)]
        return bare[len(tag) :]

    def _inside(self, text: str, pieces: list[Piece]) -> str:
        thought, closer, rest = text.partition(self._closer)
        if closer:
            self._closer = ""
        else:
            keep = _overlap(thought, self._closer)
            thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if thought:
            pieces.append(Piece(thought, thinking=True))
        return rest


def _overlap(text: str, tag: str) -> int:
    """How many of the last characters of `text` may be the start of `tag`."""
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])), 0)
