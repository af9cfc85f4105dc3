"""How long a provider asked to wait: from its headers, else from the words of its message."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_PART_SECONDS = {"h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)"
_SPAN = rf"(?:\d{{1,9}}(?:\.\d{{1,9}})?\s*{_UNIT}\b\s*)+|(?:\d{{1,9}}(?:\.\d{{1,9}})?{_UNIT})+"
_HINT = re.compile(
    rf"(?:try\s+again|retry(?:ing)?|wait|available\s+again|resets?)\s+(?:again\s+)?"
    rf"(?:in|after|for|at\s+least)?\s*(?:about\s+)?({_SPAN})",
    re.IGNORECASE,
)
_PART = re.compile(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)\s*({_UNIT})", re.IGNORECASE)
_DURATION = re.compile(r"^(\d{1,9}(?:\.\d{1,9})?)s$")
_LOOKED_AT = 4_096


def retry_after_seconds(headers: Mapping[str, str], message: str, now: float) -> float | None:
    """Seconds to wait, or None. `now` is POSIX time, for HTTP dates. Not capped: that is the caller's."""
    lowered = {name.lower(): value for name, value in headers.items()}
    for found in (
        _scaled(lowered.get("retry-after-ms", ""), 0.001),
        _scaled(lowered.get("retry-after", ""), 1.0),
        _until_date(lowered.get("retry-after", ""), now),
        _from_message(message),
    ):
        if found is not None:
            return found
    return None


def duration_seconds(value: object) -> float | None:
    """Google's duration text ("34.5s")."""
    found = _DURATION.match(value) if isinstance(value, str) else None
    return float(found[1]) if found else None


def _scaled(value: str, unit: float) -> float | None:
    try:
        seconds = float(value) * unit
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until_date(value: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None


def _from_message(message: str) -> float | None:
    found = _HINT.search(message[:_LOOKED_AT])
    if found is None:
        return None
    return sum(float(amount) * _unit_seconds(unit) for amount, unit in _PART.findall(found[1]))


def _unit_seconds(unit: str) -> float:
    unit = unit.lower()
    return _PART_SECONDS["ms" if unit.startswith(("ms", "milli")) else unit[0]]
