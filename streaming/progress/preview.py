"""The window on a decoded preview argument: its last scalars, and how many came before them.

Pure. It holds bytes, never str: one wide character makes a str of 512 take 2 KiB, and an encoder that
handles a str may leave a second copy of it inside.
"""

from __future__ import annotations

import sys
from array import array
from typing import Final

from streaming.limits import ProgressLimits
from streaming.progress.scalars import last_bytes, utf8_length
from streaming.progress.scanner import PreviewScanner
from streaming.progress.sizes import shallow_size

_SCALAR_BITS: Final = 21
_SHIFTS: Final = (2 * _SCALAR_BITS, _SCALAR_BITS, 0)
# No scalar: Unicode ends at 0x10FFFF.
_NOTHING: Final = (1 << _SCALAR_BITS) - 1
_UTF32: Final = f"utf-32-{'le' if sys.byteorder == 'little' else 'be'}"


class PreviewWindow:
    """The last `preview_scalars` of a growing text, at most `preview_bytes` of UTF-8. Exact.

    A window that is not growing at the moment should `rest`: 512 scalars of any kind then take at most
    1,368 bytes, so that 32 full windows fit into a projection.
    """

    __slots__ = ("_limits", "_packed", "_stored", "offset_scalars")

    def __init__(self, limits: ProgressLimits) -> None:
        self._limits = limits
        self._stored = b""
        self._packed = False
        self.offset_scalars = 0

    @property
    def text(self) -> str:
        return _unpack(self._stored) if self._packed else self._stored.decode()

    def append(self, text: str) -> None:
        """`text` must be scalars: no surrogates."""
        held = self.text
        kept = last_bytes((held + text)[-self._limits.preview_scalars :], self._limits.preview_bytes)
        self.offset_scalars += len(held) + len(text) - len(kept)
        self._store(kept)

    def shorten(self, scalars: int) -> None:
        """Gives up `scalars` at the left, all at most."""
        held, rests = self.text, self._packed
        self.offset_scalars += min(scalars, len(held))
        self._store(held[scalars:])
        if rests:
            self.rest()

    def empty(self) -> None:
        self.offset_scalars = 0
        self._store("")

    def rest(self) -> None:
        """Stores the text in the smaller of its two forms; costs some 50 µs where that is the packed one."""
        if self._packed or not self._stored:
            return
        packed = _pack(self._stored.decode()) if not self._stored.isascii() else self._stored
        if len(packed) < len(self._stored):
            self._stored, self._packed = packed, True

    def stored_bytes(self) -> int:
        return len(self._stored)

    def utf8_bytes(self) -> int:
        return utf8_length(self.text) if self._packed else len(self._stored)

    def size(self) -> int:
        """Bytes of memory, what is shared left out."""
        return shallow_size(self, self._stored, self.offset_scalars)

    def _store(self, text: str) -> None:
        self._stored, self._packed = text.encode(), False


class Preview(PreviewWindow):
    """A window that reads its text out of the raw arguments, as they come in fragments."""

    __slots__ = ("_scanner",)

    def __init__(self, key: str, limits: ProgressLimits) -> None:
        super().__init__(limits)
        self._scanner = PreviewScanner(key, limits.depth)

    @property
    def key(self) -> str:
        return self._scanner.key

    @property
    def dropped(self) -> bool:
        return self._scanner.dropped

    def feed(self, fragment: str) -> None:
        text = self._scanner.feed(fragment)
        if text:
            self.append(text)
        elif self._scanner.dropped:
            self.empty()

    def size(self) -> int:
        return super().size() + self._scanner.size()


def _pack(text: str) -> bytes:
    """Three scalars of 21 bits in each 64-bit word."""
    points = array("I", text.encode(_UTF32))
    points.extend([_NOTHING] * (-len(points) % 3))
    words = (a << _SHIFTS[0] | b << _SHIFTS[1] | c for a, b, c in zip(*[iter(points)] * 3, strict=True))
    return array("Q", words).tobytes()


def _unpack(packed: bytes) -> str:
    points = array("I", [word >> shift & _NOTHING for word in array("Q", packed) for shift in _SHIFTS])
    while points and points[-1] == _NOTHING:
        points.pop()
    return points.tobytes().decode(_UTF32)
