"""Reading JSON that a provider wrote: fast where it is clean, forgiving where vendors are not.

Raises `BadJson` and nothing else, whatever the depth, the numbers or the surrogates in the text.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from streaming.providers.surrogates import mend

# Python refuses to convert more than 4,300 digits; no token count or index needs more than these.
_MAX_INT_DIGITS = 4_000


class BadJson(ValueError):
    """The text is not JSON, or is too deep to be read. Carries no part of the text."""


def parse(text: str | bytes) -> Any:
    """The value of `text`. NaN, huge numbers and lone surrogates are let through, as vendors send them."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _parse_leniently(text)


def parse_or_none(text: str) -> Any:
    """Like `parse`, with None for text that is not JSON."""
    try:
        return parse(text)
    except BadJson:
        return None


def dump(value: Any) -> str:
    """Compact JSON text of a parsed value, every character of it a Unicode scalar."""
    try:
        return mend(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (RecursionError, ValueError) as error:
        raise BadJson("value too deep to write") from error


def _parse_leniently(text: str | bytes) -> Any:
    # orjson refuses lone surrogates (a pair cut over two events), NaN and 1e999; json does not.
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        return json.loads(text, parse_int=_bounded_int)
    except (ValueError, RecursionError):
        raise BadJson("not JSON") from None


def _bounded_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)
