"""Has this JSON value closed? Answered fragment by fragment, each character looked at once.

Brackets and strings only: it knows where a value ends, not whether it is valid.
"""

from __future__ import annotations

import re

_NOT_SPACE = re.compile(r"\S")
_STRUCTURE = re.compile(r'["{}\[\]]')
_STRING_TURN = re.compile(r'["\\]')


class JsonShape:
    """State of one value that arrives in fragments.

    `opener` is its first character ("" while only whitespace came). A value that is no object, array or
    string has no end to wait for: it counts as closed only by `unbounded`.
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "closed", "opener")

    def __init__(self) -> None:
        self.opener = ""
        self.closed = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    @property
    def unbounded(self) -> bool:
        """Text that never had a bracket or quote to close: a number, a word, plain code."""
        return self.opener not in ("", "{", "[", '"')

    def feed(self, text: str) -> int | None:
        """Take the next fragment. The offset just behind the value's end, where it ends in this fragment."""
        if self.closed or self.unbounded:
            return None
        at = 0 if self.opener else self._open(text)
        if self.unbounded:
            return None
        while at < len(text):
            at = self._string(text, at) if self._in_string else self._between(text, at)
            if self.closed:
                return at
        return None

    def _open(self, text: str) -> int:
        found = _NOT_SPACE.search(text)
        if found is None:
            return len(text)
        self.opener = found[0]
        # Only the first character is judged here; a bracket or quote is then read as any other.
        return found.start()

    def _string(self, text: str, at: int) -> int:
        """On from inside a string: behind its end, or all of the text."""
        if self._escaped:
            self._escaped = False
            at += 1
        while (found := _STRING_TURN.search(text, at)) is not None:
            at = found.end()
            if found[0] == '"':
                self._in_string = False
                self.closed = self._depth == 0
                return at
            self._escaped = at == len(text)
            at += 1
        return len(text)

    def _between(self, text: str, at: int) -> int:
        found = _STRUCTURE.search(text, at)
        if found is None:
            return len(text)
        if found[0] == '"':
            self._in_string = True
        elif found[0] in "{[":
            self._depth += 1
        else:
            self._depth -= 1
            self.closed = self._depth == 0
        return found.end()
