"""Server-sent events out of bytes that may be cut anywhere; sans-io and bounded.

Knows nothing of what the events mean, save two habits of LLM servers: `[DONE]` ends a body, and some
separate their events by one newline in place of two.
"""

from __future__ import annotations

from typing import NamedTuple

from streaming.limits import WireLimits
from streaming.providers.provider_json import BadJson, parse
from streaming.providers.wire_errors import over_limit

_BOM = b"\xef\xbb\xbf"
DONE = "[DONE]"


class SseEvent(NamedTuple):
    """`stray` marks a JSON line that had no `data:` before it: only an error may be read out of it."""

    name: str
    data: str
    stray: bool = False


class SseDecoder:
    """`feed(bytes)` and `feed_eof()` give events. Lines end by LF, CR or CRLF in any mixture."""

    def __init__(self, limits: WireLimits) -> None:
        self.comments = 0
        self._limits = limits
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._skip_newline = False
        self._first_line = True
        self._name = ""
        self._late_name = ""
        self._data: list[str] = []
        self._data_bytes = 0
        self._events: list[SseEvent] = []

    def feed(self, data: bytes) -> list[SseEvent]:
        """Raises `WireError` for a line or an event over its limit."""
        data = self._unify_line_ends(data)
        *lines, tail = data.split(b"\n")
        for line in lines:
            self._line(self._join_tail(line))
        self._keep_tail(tail)
        return self._take()

    def feed_eof(self) -> list[SseEvent]:
        """What the last, unfinished lines hold; a server may leave out the closing newlines."""
        if self._tail:
            self._line(self._join_tail(b""))
        self._dispatch()
        return self._take()

    def _take(self) -> list[SseEvent]:
        events, self._events = self._events, []
        return events

    def _unify_line_ends(self, data: bytes) -> bytes:
        if self._skip_newline and data:
            # The CR before it has already ended the line.
            data = data.removeprefix(b"\n")
            self._skip_newline = False
        if b"\r" not in data:
            return data
        self._skip_newline = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep_tail(self, tail: bytes) -> None:
        if tail:
            self._tail.append(tail)
            self._tail_bytes += len(tail)
            self._check_line(self._tail_bytes)

    def _join_tail(self, line: bytes) -> bytes:
        if self._tail:
            self._tail.append(line)
            line = b"".join(self._tail)
            self._tail.clear()
            self._tail_bytes = 0
        self._check_line(len(line))
        return line

    def _check_line(self, size: int) -> None:
        if size > self._limits.line_bytes:
            raise over_limit("bytes in a line")

    def _line(self, raw: bytes) -> None:
        if self._first_line:
            self._first_line = False
            raw = raw.removeprefix(_BOM)
        if not raw:
            self._dispatch()
        elif raw.startswith(b"data:"):
            self._add_data(raw[6:] if raw.startswith(b"data: ") else raw[5:])
        elif raw.startswith(b":"):
            self.comments += 1
        elif raw.startswith(b"{"):
            self._events.append(SseEvent("", raw.decode("utf-8", "replace"), stray=True))
        else:
            self._field(raw)

    def _field(self, raw: bytes) -> None:
        field, _, value = raw.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"error" and text:
            # llama.cpp writes its errors as a field of that name.
            self._events.append(SseEvent("error", text))
        elif field == b"event" and self._data:
            self._late_name = text
        elif field == b"event":
            self._name = text

    def _add_data(self, value: bytes) -> None:
        if self._data and self._is_whole():
            name = self._late_name
            self._late_name = ""
            self._dispatch()
            self._name = name
        self._data_bytes += len(value)
        if self._data_bytes > self._limits.event_bytes:
            raise over_limit("bytes in an event")
        text = value.decode("utf-8", "replace")
        self._data.append(text)
        if text == DONE:
            self._dispatch()

    def _is_whole(self) -> bool:
        """Whether the pending data is an event by itself, the blank line behind it forgotten.

        Only ever tried on a first line, so that no byte is parsed twice for it more than once.
        """
        text = self._data[0]
        if len(self._data) > 1 or not (text.startswith("{") and text.endswith("}")):
            return False
        try:
            parse(text)
        except BadJson:
            return False
        return True

    def _dispatch(self) -> None:
        data = "\n".join(self._data)
        if data:
            self._events.append(SseEvent(self._late_name or self._name, data))
        self._name = self._late_name = ""
        self._data.clear()
        self._data_bytes = 0
