"""The raw JSON text of one call's arguments, put together from whatever way a server tells it.

Servers send it in fragments, all over again with each fragment, once more at the end, as a string of
JSON of JSON, or only whole. Here that becomes one text, each character looked at a bounded number of times.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from streaming.providers.json_shape import JsonShape
from streaming.providers.provider_json import BadJson, parse, parse_or_none
from streaming.providers.surrogates import SurrogateJoiner, mend

_NOTHING = frozenset({"", "null", "None", '""'})
_RAW_CONTROL = re.compile(r"[\x00-\x1f]")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_VALUE_FOLLOWS = (":", ",", "[")
# Twice encoded is seen in the wild, three times never.
_MAX_ENCODINGS = 3
# An escape spells a character in six at most, and each of those in two where it is encoded again.
_MAX_STRETCH = 12


class Edit(NamedTuple):
    """A change of the text: appended, or (`replaces`) all of it anew."""

    text: str
    replaces: bool = False


class ArgumentText:
    """`add` takes a fragment, `state` a text said to be whole, `finish` settles all doubts."""

    __slots__ = ("_doubt", "_extra", "_extra_chars", "_joiner", "_overrun", "_pieces", "_shape", "chars")

    def __init__(self) -> None:
        self.chars = 0
        self._extra_chars = 0
        self._overrun = False
        self._pieces: list[str] = []
        self._extra: list[str] = []
        self._doubt: list[str] | None = None
        self._shape = JsonShape()
        self._joiner = SurrogateJoiner()

    @property
    def closed(self) -> bool:
        """The JSON value has ended: what still comes is a repeat, or belongs to another call."""
        return self._shape.closed

    @property
    def begun(self) -> bool:
        return self.chars > 0

    @property
    def size(self) -> int:
        """What a limit is held against. A repeat behind the end may be twice as long: escaped once more."""
        return max(self.chars, self._extra_chars // 2)

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, fragment: str) -> list[Edit]:
        fragment = self._joiner.feed(fragment)
        if not fragment:
            return []
        if not self._shape.closed and self._repeats_all(fragment):
            return self._restart(fragment)
        if self._doubt is not None:
            self._doubt.append(fragment)
        return self._behind_the_end(fragment) if self._shape.closed else self._append(fragment)

    def state(self, text: str) -> list[Edit]:
        """The server says that the whole text is this. Later and emptier statements take nothing away."""
        text = mend(text)
        if text.strip() in _NOTHING or self._starts_with(text):
            return []
        known = self.text
        self._joiner.flush()
        if text.startswith(known) and not self._shape.closed:
            return self._append(text[len(known) :])
        if self._shape.closed and (same_arguments(known, text) or not _is_object(text)):
            return []
        return self._replace(text)

    def finish(self) -> list[Edit]:
        """Settle the text: repeats are forgotten, doubts decided, encodings and raw controls undone."""
        edits = self._append(held) if (held := self._joiner.flush()) else []
        edits += self._settle_doubt() or self._settle_extra()
        plain = plain_arguments(self.text)
        if plain != self.text and self.chars:
            edits += self._replace(plain)
        return edits

    @property
    def complete(self) -> bool:
        """The text has an end: closed, absent, or of a kind (plain words) that has none."""
        return self._shape.closed or self._shape.unbounded or not self._shape.opener

    def _starts_with(self, text: str) -> bool:
        """Asked of a text no longer than the known one, at the cost of that text."""
        if len(text) > self.chars:
            return False
        head, missing = [], len(text)
        for piece in self._pieces:
            if missing <= 0:
                break
            head.append(piece)
            missing -= len(piece)
        return "".join(head).startswith(text)

    def _append(self, fragment: str) -> list[Edit]:
        end = self._shape.feed(fragment)
        if end is None or not fragment[end:].strip():
            return self._tell_raw(fragment)
        return self._tell_raw(fragment[:end]) + self._keep_extra(fragment[end:])

    def _replace(self, text: str) -> list[Edit]:
        self._pieces.clear()
        self._extra.clear()
        self._extra_chars = 0
        self._overrun = False
        self._shape = JsonShape()
        self.chars = 0
        return [Edit("".join(edit.text for edit in self._append(text)), replaces=True)]

    def _repeats_all(self, fragment: str) -> bool:
        """A fragment that begins with all that came before restates it (cumulative servers).

        JSON that goes on with its own beginning is never valid (`{"code` has no place inside
        `{"code`), save where a value may follow: that doubt is kept until the end.
        """
        if len(fragment) < self.chars or self._shape.opener not in ("{", '"') or self.chars < 1:
            return False
        if self._shape.opener == '"' and self.chars < 2:
            return False
        return fragment.startswith(self.text)

    def _restart(self, fragment: str) -> list[Edit]:
        known = self.text
        self._doubt = [known, fragment] if known.rstrip().endswith(_VALUE_FOLLOWS) else None
        return self._replace(fragment) if fragment != known else []

    def _behind_the_end(self, fragment: str) -> list[Edit]:
        if self._overrun or (not self._extra and not fragment.strip()):
            return self._tell_raw(fragment)
        if not self._extra and fragment.lstrip().startswith("{") and self._is_placeholder():
            return self._replace(fragment)
        if not self._extra and same_arguments(self.text, fragment):
            return []
        return self._keep_extra(fragment)

    def _keep_extra(self, fragment: str) -> list[Edit]:
        """Held back as a repeat of the text, for as long as it can be one."""
        self._extra.append(fragment)
        self._extra_chars += len(fragment)
        if self._extra_chars <= _MAX_STRETCH * self.chars + 64:
            return []
        return self._give_up_extra()

    def _give_up_extra(self) -> list[Edit]:
        """It is part of the text, which is malformed then; what follows is told as it comes."""
        extra = "".join(self._extra)
        self._extra.clear()
        self._extra_chars = 0
        self._overrun = True
        return self._tell_raw(extra)

    def _tell_raw(self, text: str) -> list[Edit]:
        self._pieces.append(text)
        self.chars += len(text)
        return [Edit(text)]

    def _is_placeholder(self) -> bool:
        """`{}` in the head of a call, the real arguments still to come."""
        return self.chars < 8 and self.text.strip() == "{}"

    def _settle_doubt(self) -> list[Edit]:
        doubt, self._doubt = self._doubt, None
        if doubt is None or (self._shape.closed and not self._extra):
            return []
        joined = "".join(doubt)
        return self._replace(joined) if _is_object(joined) else []

    def _settle_extra(self) -> list[Edit]:
        extra = "".join(self._extra)
        self._extra.clear()
        if not extra.strip() or same_arguments(self.text, extra):
            return []
        return self._tell_raw(extra)


def plain_arguments(text: str) -> str:
    """`text` as JSON of an object where it is one in disguise, else as it is. Nothing is `{}`."""
    if text.strip() in _NOTHING:
        return "{}"
    for _ in range(_MAX_ENCODINGS):
        value, text = _value_of(text)
        if not isinstance(value, str):
            return text
        inner = value.strip()
        if inner in _NOTHING:
            return "{}"
        if not inner.startswith(("{", '"')):
            return text
        text = mend(value)
    return text


def same_arguments(one: str, other: str) -> bool:
    """Equal as values, whatever their spacing and encodings. Text that is not JSON equals only itself."""
    if one == other:
        return True
    if max(len(one), len(other)) > _MAX_STRETCH * min(len(one), len(other)) + 64:
        # Not equal by any spelling; and no text is parsed again and again for a trickle of short ones.
        return False
    first = canonical(plain_arguments(one))
    return first is not None and first == canonical(plain_arguments(other))


def _value_of(text: str) -> tuple[Any, str]:
    """The parsed value with the text that it was parsed from: raw controls in strings are escaped for it."""
    try:
        return parse(text), text
    except BadJson:
        escaped = _escape_raw_controls(text)
        value = parse_or_none(escaped) if escaped != text else None
        return (None, text) if value is None else (value, escaped)


def _escape_raw_controls(text: str) -> str:
    if not _RAW_CONTROL.search(text):
        return text
    return _STRING.sub(lambda found: _RAW_CONTROL.sub(_escape, found[0]), text)


def _escape(found: re.Match[str]) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(found[0], f"\\u{ord(found[0]):04x}")


def _is_object(text: str) -> bool:
    return isinstance(parse_or_none(plain_arguments(text)), dict)


def canonical(text: str) -> str | None:
    """One spelling for each value, or None. Values will not do: to Python `1`, `1.0` and `true` are equal."""
    try:
        return json.dumps(parse(text), sort_keys=True)
    except (BadJson, RecursionError):
        return None
