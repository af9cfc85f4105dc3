"""Text that every database takes: what cannot be stored is replaced or refused, never half kept."""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def is_storable(text: str) -> bool:
    """False for NUL (PostgreSQL refuses it) and lone surrogates (no UTF-8 has them)."""
    return _UNSTORABLE.search(text) is None


def storable(text: str) -> str:
    """`text` with NUL and lone surrogates shown as U+FFFD: for words of models and tools, never of users."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def without_surrogates(value: Any) -> Any:
    """A JSON value whose strings and keys are all encodable; NUL stays, JSON escapes it."""
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def head(text: str, scalars: int) -> str:
    """The beginning of `text`, at most `scalars` long, with an ellipsis where something was cut."""
    return text if len(text) <= scalars else text[: scalars - 1] + "…"
