"""Text that every database takes: what cannot be stored is replaced or refused, never half kept."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def is_storable(text: str) -> bool:
    """False for NUL (PostgreSQL refuses it) and lone surrogates (no UTF-8 has them)."""
    return _plain(text) or _UNSTORABLE.search(text) is None


def storable(text: str) -> str:
    """`text` with NUL and lone surrogates shown as U+FFFD: for words of models and tools, never of users."""
    return text if _plain(text) else _UNSTORABLE.sub(REPLACEMENT, text)


def _plain(text: str) -> bool:
    # Two looks at machine speed spare most text the expression, which takes half a second for 16 MiB.
    return "\0" not in text and text.isascii()


def head(text: str, scalars: int) -> str:
    """The beginning of `text`, at most `scalars` long, with an ellipsis where something was cut."""
    return text if len(text) <= scalars else text[: scalars - 1] + "…"
