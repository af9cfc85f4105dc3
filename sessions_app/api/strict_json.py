"""JSON as clients may send it: UTF-8, one value, no key twice, nothing that two readers read differently."""

from __future__ import annotations

import json
import math
from typing import Any

from sessions_app.problems import InvalidRequest
from sessions_app.text import is_storable

MAX_DEPTH = 64
MAX_NUMBER_CHARS = 40


def parse(data: bytes) -> Any:
    """The value of a request body. Raises InvalidRequest; the body itself never stands in the error."""
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise InvalidRequest("The body is not UTF-8.") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON.") from None
    _check(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequest("The body has the same key twice in one object.")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_NUMBER_CHARS:
        raise InvalidRequest("The body has a number that is too long.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if len(digits) > MAX_NUMBER_CHARS or not math.isfinite(value):
        raise InvalidRequest("The body has a number that is too long or too large.")
    return value


def _constant(name: str) -> Any:
    raise InvalidRequest("The body has a number that JSON does not know.")


def _check(value: Any) -> None:
    """Refuse text that cannot be stored, and nesting beyond what any request needs."""
    level = [("", value)]
    for _ in range(MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for pointer, item in level:
            below += _inside(pointer, item)
        if not below:
            return
        level = below
    raise InvalidRequest("The body is nested too deeply.")


def _inside(pointer: str, item: Any) -> list[tuple[str, Any]]:
    if isinstance(item, str) and not is_storable(item):
        raise InvalidRequest("Text must not have NUL characters or lone surrogates.", pointer)
    if isinstance(item, dict):
        if not all(is_storable(key) for key in item):
            raise InvalidRequest("Keys must not have NUL characters or lone surrogates.", pointer)
        return [(f"{pointer}/{escape(key)}", value) for key, value in item.items()]
    if isinstance(item, list):
        return [(f"{pointer}/{index}", value) for index, value in enumerate(item)]
    return []


def escape(key: str) -> str:
    """A key as it stands in a JSON pointer, not longer than is useful to read."""
    return key[:100].replace("~", "~0").replace("/", "~1")
