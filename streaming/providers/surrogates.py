"""UTF-16 halves in provider text: pairs are joined, also over two fragments; a lone half is U+FFFD."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE = "\ufffd"


def mend(text: str) -> str:
    """`text` with its surrogate pairs joined and its lone halves replaced."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class SurrogateJoiner:
    """Fragments of one text in order; holds back a trailing high half until its other half can come."""

    __slots__ = ("_high",)

    def __init__(self) -> None:
        self._high = ""

    def feed(self, text: str) -> str:
        if not self._high and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text, self._high = self._high + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return mend(text)

    def flush(self) -> str:
        held, self._high = self._high, ""
        return _LONE if held else ""
