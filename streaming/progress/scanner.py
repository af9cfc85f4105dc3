"""An incremental JSON scanner for one question: what does the string under one top-level key say so far?

It keeps a few words of state and never the arguments. It is strict and repairs nothing: at the first
oddness it drops the preview for good, as a wrong preview is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from streaming.progress.scalars import REPLACEMENT, join_halves
from streaming.progress.sizes import shallow_size

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
# Bounded rounds: `re` keeps a mark of each to go back to, which for a string of 16 MiB in one
# fragment would cost many times its size.
_BODY: Final = re.compile(r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,512}')
_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_ATOM: Final = re.compile(r"[-+.0-9A-Za-z]*")
_LITERALS: Final = ("true", "false", "null")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CUT_NUMBER: Final = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]*)?))?")
_DIGITS: Final = re.compile(r"([0-9])[0-9]+")

_decode: Final = json.JSONDecoder().raw_decode

_State = Callable[["PreviewScanner", str, int, list[str]], int]


class _TooOddError(Exception):
    """What was read cannot be previewed safely."""


def _between_tokens(read: Callable[[PreviewScanner, str, int], int]) -> _State:
    """A state that passes over white space and then reads at a character that is none."""

    def state(scanner: PreviewScanner, text: str, position: int, decoded: list[str]) -> int:
        start = _end_of(_SPACE, text, position)
        return read(scanner, text, start) if start < len(text) else start

    return state


class PreviewScanner:
    """Takes the raw text of a JSON object in any pieces, gives the decoded string under `key` in pieces.

    Dropped for good by: invalid JSON (also NaN, and raw control characters inside strings), a top level
    that is not an object, more than `max_depth` levels, an escape in a key of the top-level object,
    `key` twice, a value under `key` that is not a string.

    `_state` is the method that reads on from here. A token that the end of a fragment cuts is carried
    over to the next one, a number of any length in a short form that continues in the same way.
    """

    __slots__ = ("_carry", "_half", "_matched", "_nesting", "_seen", "_state", "key", "max_depth")

    def __init__(self, key: str, max_depth: int = 64) -> None:
        self.key = key
        self.max_depth = max_depth
        self._state: _State | None = PreviewScanner._start
        # Below a leading 1, one bit for each open container: 1 is an object, 0 an array.
        self._nesting = 0b1
        # How many characters of `key` the present key has matched; -1 from where it differs.
        self._matched = -1
        self._seen = False
        self._carry = ""
        self._half = ""

    @property
    def dropped(self) -> bool:
        return self._state is None

    def feed(self, fragment: str) -> str:
        """The scalars that `fragment` adds to the value; "" where it adds none, and after a drop."""
        if self._state is None:
            return ""
        text, self._carry = self._carry + fragment, ""
        decoded: list[str] = []
        position = 0
        try:
            while position < len(text):
                position = self._state(self, text, position, decoded)
        except _TooOddError:
            self._state, self._carry, self._half = None, "", ""
            return ""
        return "".join(decoded)

    def size(self) -> int:
        """Bytes of memory, what is shared left out."""
        return shallow_size(self, self._nesting, self._carry, self._half)

    @_between_tokens
    def _start(self, text: str, position: int) -> int:
        _require(text[position] == "{")
        return self._open(position, is_object=True)

    @_between_tokens
    def _first_key(self, text: str, position: int) -> int:
        return self._close(position) if text[position] == "}" else self._enter_key(text, position)

    @_between_tokens
    def _next_key(self, text: str, position: int) -> int:
        return self._enter_key(text, position)

    @_between_tokens
    def _colon(self, text: str, position: int) -> int:
        _require(text[position] == ":")
        wanted = self._matched == len(self.key)
        self._state = PreviewScanner._preview_value if wanted else PreviewScanner._value
        return position + 1

    @_between_tokens
    def _preview_value(self, text: str, position: int) -> int:
        _require(text[position] == '"')
        self._state = PreviewScanner._preview_string
        return position + 1

    @_between_tokens
    def _first_item(self, text: str, position: int) -> int:
        return self._close(position) if text[position] == "]" else self._enter_value(text, position)

    @_between_tokens
    def _value(self, text: str, position: int) -> int:
        return self._enter_value(text, position)

    @_between_tokens
    def _after_value(self, text: str, position: int) -> int:
        in_object = self._nesting & 1
        if text[position] == ",":
            self._state = PreviewScanner._next_key if in_object else PreviewScanner._value
            return position + 1
        _require(text[position] == ("}" if in_object else "]"))
        return self._close(position)

    @_between_tokens
    def _end(self, text: str, position: int) -> int:
        raise _TooOddError

    def _top_key(self, text: str, position: int, decoded: list[str]) -> int:
        end = _end_of(_PLAIN, text, position)
        piece = text[position:end]
        if self._matched >= 0:
            same = self.key.startswith(piece, self._matched)
            self._matched = self._matched + len(piece) if same else -1
        if end == len(text):
            return end
        _require(text[end] == '"')
        if self._matched == len(self.key):
            _require(not self._seen)
            self._seen = True
        self._state = PreviewScanner._colon
        return end + 1

    def _nested_key(self, text: str, position: int, decoded: list[str]) -> int:
        return self._leave_body(text, _end_of_body(text, position), PreviewScanner._colon)

    def _other_string(self, text: str, position: int, decoded: list[str]) -> int:
        return self._leave_body(text, _end_of_body(text, position), PreviewScanner._after_value)

    def _preview_string(self, text: str, position: int, decoded: list[str]) -> int:
        end = _end_of_body(text, position)
        body = text[position:end]
        if "\\" in body:
            body = _decode(f'"{body}"')[0]
        scalars, self._half = join_halves(self._half, body)
        decoded.append(scalars)
        if text[end : end + 1] == '"' and self._half:
            decoded.append(REPLACEMENT)
            self._half = ""
        return self._leave_body(text, end, PreviewScanner._after_value)

    def _leave_body(self, text: str, end: int, after: _State) -> int:
        """What stopped the body at `end`: the end of the text, the quote, a cut escape, or a fault."""
        if end == len(text):
            return end
        if text[end] == '"':
            self._state = after
            return end + 1
        _require(_CUT_ESCAPE.fullmatch(text, end) is not None)
        self._carry = text[end:]
        return len(text)

    def _enter_key(self, text: str, position: int) -> int:
        _require(text[position] == '"')
        at_top = self._nesting == 0b11
        self._matched = 0 if at_top else -1
        self._state = PreviewScanner._top_key if at_top else PreviewScanner._nested_key
        return position + 1

    def _enter_value(self, text: str, position: int) -> int:
        match text[position]:
            case '"':
                self._state = PreviewScanner._other_string
                return position + 1
            case "{" | "[" as bracket:
                return self._open(position, is_object=bracket == "{")
            case _:
                return self._read_atom(text, position)

    def _read_atom(self, text: str, position: int) -> int:
        end = _end_of(_ATOM, text, position)
        atom = text[position:end]
        if end < len(text):
            _require(atom in _LITERALS or _NUMBER.fullmatch(atom) is not None)
            self._state = PreviewScanner._after_value
            return end
        literal = any(word.startswith(atom) for word in _LITERALS)
        _require(literal or _CUT_NUMBER.fullmatch(atom) is not None)
        self._state = PreviewScanner._value
        self._carry = _DIGITS.sub(r"\1", atom)
        return end

    def _open(self, position: int, *, is_object: bool) -> int:
        # Before the new bit, the length is the depth with the new container, for the leading 1.
        _require(self._nesting.bit_length() <= self.max_depth)
        self._nesting = self._nesting << 1 | is_object
        self._state = PreviewScanner._first_key if is_object else PreviewScanner._first_item
        return position + 1

    def _close(self, position: int) -> int:
        self._nesting >>= 1
        self._state = PreviewScanner._end if self._nesting == 0b1 else PreviewScanner._after_value
        return position + 1


def _require(holds: bool) -> None:
    if not holds:
        raise _TooOddError


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def _end_of_body(text: str, position: int) -> int:
    """Where the plain characters and whole escapes from `position` on end."""
    end = _end_of(_BODY, text, position)
    while end > position:
        position, end = end, _end_of(_BODY, text, end)
    return end
