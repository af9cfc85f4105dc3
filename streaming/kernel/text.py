"""Text of a kernel, made safe and bounded. Pure."""

from __future__ import annotations

import re

UNSAFE = re.compile("[\x00\ud800-\udfff]")
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def clean(text: str) -> str:
    """NUL and lone surrogates become U+FFFD: neither can be stored everywhere."""
    # Two looks at machine speed spare nearly all text the expression.
    if "\0" not in text and text.isascii():
        return text
    return UNSAFE.sub("\ufffd", text)


def without_ansi(text: str) -> str:
    return ANSI.sub("", text)


def left_out(chars: int) -> str:
    return f"\n... {chars} characters left out ...\n"


def cut_middle(text: str, limit_bytes: int) -> str:
    """`text`, or its first and last parts with the count of what is between, near `limit_bytes` of UTF-8."""
    data = text.encode()
    if len(data) <= limit_bytes:
        return text
    head, tail = first_bytes(data, limit_bytes // 2), last_bytes(data, limit_bytes // 2)
    return head + left_out(len(text) - len(head) - len(tail)) + tail


def first_bytes(data: bytes | bytearray, limit: int) -> str:
    """The longest text of at most `limit` bytes that `data` begins with."""
    return bytes(data[:limit]).decode("utf-8", "ignore")


def last_bytes(data: bytes | bytearray, limit: int) -> str:
    return bytes(data[max(0, len(data) - limit) :]).decode("utf-8", "ignore")


class BoundedText:
    """Appended text of which the beginning and the end are kept, in about `limit_bytes` of UTF-8.

    The end is kept as well as the beginning, `tail_bytes` of it: there stand the last value and the error.
    """

    def __init__(self, limit_bytes: int, tail_bytes: int) -> None:
        self._head_limit = limit_bytes - tail_bytes
        self._tail_limit = tail_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._bytes = 0
        self._chars = 0
        self.ends_line = True

    def append(self, text: str) -> None:
        if not text:
            return
        data = text.encode()
        self._chars += len(text)
        self._bytes += len(data)
        self.ends_line = text.endswith("\n")
        if not self._tail:
            data = self._fill_head(data)
        self._tail += data
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def whole(self) -> str:
        """All that is kept, with a mark where something was left out."""
        return self._joined(self._head.decode(), self._tail, self._tail_limit)

    def shortened(self, limit_bytes: int) -> str:
        """The text, or `limit_bytes` of its beginning and end with the count of what is between."""
        if not self.is_longer_than(limit_bytes):
            return self._head.decode() + self._tail.decode()
        half = limit_bytes // 2
        end = self._tail if len(self._tail) >= half else self._head[-half:] + self._tail
        return self._joined(first_bytes(self._head, half), end, half)

    def is_longer_than(self, limit_bytes: int) -> bool:
        return self._bytes > limit_bytes

    def _fill_head(self, data: bytes) -> bytes:
        room = self._head_limit - len(self._head)
        if len(data) <= room:
            self._head += data
            return b""
        fitting = first_bytes(data, room).encode()
        self._head += fitting
        return data[len(fitting) :]

    def _joined(self, head: str, end: bytearray, end_limit: int) -> str:
        tail = last_bytes(end, end_limit)
        missing = self._chars - len(head) - len(tail)
        return head + tail if missing == 0 else head + left_out(missing) + tail
