"""Finds a long run of one repeated whitespace or control character in text that comes in fragments.

Pure and linear. In JSON text an escape (`\\n`, `\\u0000`) is such a character too: a control character
can stand in arguments in no other form. It keeps the open run only, never the text.
"""

from __future__ import annotations

import re
import sys

_CONTROLS = [chr(code) for code in (*range(32), *range(127, 160))]
_SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
_RAW = frozenset(_CONTROLS + _SPACES)
_SHORT_ESCAPES = frozenset({"\\n", "\\r", "\\t", "\\b", "\\f"})
_LONG = r"\\u(?:00(?:[01][0-9a-fA-F]|20|7[fF]|[89][0-9a-fA-F]|[aA]0)|202[89])"
_LONG_ESCAPE = re.compile(rf"{_LONG}\Z")
# An escape cut by the end of a fragment is held back until the next one.
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
# Short repeats are passed over quickly: with them, indented code would be looked at run by run.
_ANY_RUN = r"(?:([\s\x00-\x20\x7f-\x9f])\1{{{0},}}|(\\[nrtbf])\2{{{0},}}|({1})\3{{{0},}})"
_WORTH_A_LOOK = 15


class RunCounter:
    """Counts the run that is open at the end of what was fed.

    `escapes` True reads JSON text, where escapes count as the character that they stand for.
    """

    __slots__ = ("_any_run", "_carry", "_count", "_escapes", "_limit", "_unit")

    def __init__(self, limit: int, *, escapes: bool) -> None:
        self._limit = limit
        self._escapes = escapes
        self._unit = ""
        self._count = 0
        self._carry = ""
        self._any_run = re.compile(_ANY_RUN.format(max(1, min(_WORTH_A_LOOK, limit - 1)), _LONG))

    def feed(self, text: str) -> int:
        """The length in characters of a run that has reached the limit, else 0."""
        if self._carry:
            text, self._carry = self._carry + text, ""
        text = self._hold_back(text)
        if not text:
            return 0
        longest = self._extend(text)
        if len(text) >= self._limit:
            longest = max(longest, self._longest_inside(text))
        return longest if longest >= self._limit else 0

    def _hold_back(self, text: str) -> str:
        if not self._escapes or "\\" not in text[-5:]:
            return text
        cut = _CUT_ESCAPE.search(text, max(0, len(text) - 5))
        if cut is None:
            return text
        self._carry = text[cut.start() :]
        return text[: cut.start()]

    def _extend(self, text: str) -> int:
        """Moves the open run over `text`; the longer of the run that was open and the one that is now."""
        goes_on = _end_of_run(text, self._unit) if self._unit else 0
        before = self._count + (goes_on // len(self._unit) if goes_on else 0)
        if goes_on == len(text):
            self._count = before
            return before
        self._unit = self._last_unit(text)
        self._count = (len(text) - _start_of_run(text, self._unit)) // len(self._unit) if self._unit else 0
        return max(before, self._count)

    def _last_unit(self, text: str) -> str:
        last = text[-1]
        if last in _RAW:
            return last
        if not self._escapes:
            return ""
        if text[-2:] in _SHORT_ESCAPES:
            return text[-2:]
        return text[-6:] if _LONG_ESCAPE.match(text[-6:]) else ""

    def _longest_inside(self, text: str) -> int:
        longest = 0
        for run in self._any_run.finditer(text):
            unit = run[1] or run[2] or run[3]
            if len(unit) == 1 or self._escapes:
                longest = max(longest, (run.end() - run.start()) // len(unit))
        return longest


def _start_of_run(text: str, unit: str) -> int:
    if len(unit) == 1:
        return len(text.rstrip(unit))
    end = len(text)
    while text.endswith(unit, 0, end):
        end -= len(unit)
    return end


def _end_of_run(text: str, unit: str) -> int:
    if len(unit) == 1:
        return len(text) - len(text.lstrip(unit))
    end = 0
    while text.startswith(unit, end):
        end += len(unit)
    return end
