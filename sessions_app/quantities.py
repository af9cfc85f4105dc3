"""Ages and sizes as people write them for a command, and sizes as they read them."""

from __future__ import annotations

import re
from datetime import timedelta

_AGE = re.compile(r"(\d{1,6})\s*([mhdw])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_age(text: str) -> timedelta:
    """From `90d`: minutes (m), hours, days or weeks. Raises ValueError."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise ValueError("an age is a number and m, h, d or w, as in 90d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def parse_size(text: str) -> int:
    """Bytes, from `20GB` (powers of 1000), `20GiB` (of 1024) or a plain number. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or (found[3] and not found[2]):
        raise ValueError("a size is a number and KB, MB, GB or TB (or KiB and so on), as in 20GB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** _POWERS[found[2].lower()])


def show_size(size: int) -> str:
    """Of three figures or so, in powers of 1000, as `parse_size` reads it."""
    value, power = float(size), 0
    while value >= 999.95 and power < 4:
        value, power = value / 1000, power + 1
    return f"{size} B" if power == 0 else f"{value:.1f} {'KMGT'[power - 1]}B"
