"""Typed reading of environment variables; `settings.py` is the only user.

A value that does not parse raises `ImproperlyConfigured` with the variable's name and never with
the value, which may be a secret. A name outside the declared table cannot be read at all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


class Env:
    """Reads declared variables from `source`. An empty value counts as not given."""

    def __init__(self, source: Mapping[str, str], declared: Collection[str]) -> None:
        self._source = source
        self._declared = frozenset(declared)

    def text(self, name: str, default: str = "") -> str:
        value = self._raw(name)
        return default if value is None else value

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        value = self.text(name, default)
        if value not in choices:
            raise _bad(name, "one of " + ", ".join(sorted(choices)))
        return value

    def integer(self, name: str, default: int, minimum: int = 0) -> int:
        value = self._raw(name)
        if value is None:
            return default
        # int() alone would take "1_0" and digits of other scripts.
        if not (value.isascii() and value.removeprefix("-").isdigit()) or len(value) > 18:
            raise _bad(name, "a whole number")
        number = int(value)
        if number < minimum:
            raise _bad(name, f"at least {minimum}")
        return number

    def number(self, name: str, default: float, minimum: float = 0.0) -> float:
        value = self._raw(name)
        if value is None:
            return default
        try:
            number = float(value)
        except ValueError:
            raise _bad(name, "a number") from None
        if not math.isfinite(number) or number < minimum:
            raise _bad(name, f"a number of at least {minimum:g}")
        return number

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._raw(name)
        if value is None:
            return default
        if value.lower() in TRUE:
            return True
        if value.lower() in FALSE:
            return False
        raise _bad(name, "1 or 0")

    def path(self, name: str, default: Path) -> Path:
        """An absolute path; a relative one is taken from the working folder, `~` from the home folder."""
        value = self._raw(name)
        if value is None:
            return default
        try:
            return Path(value).expanduser().absolute()
        except RuntimeError:
            raise _bad(name, "a path whose home folder is known") from None

    def items(self, name: str, default: Collection[str] = ()) -> list[str]:
        """A list separated by commas; blanks around its items do not count."""
        value = self._raw(name)
        if value is None:
            return list(default)
        return [item for part in value.split(",") if (item := part.strip())]

    def _raw(self, name: str) -> str | None:
        if name not in self._declared:
            raise KeyError(f"{name} is not a declared environment variable")
        value = self._source.get(name, "").strip()
        if "\x00" in value:
            raise _bad(name, "text without NUL")
        return value or None


def _bad(name: str, expected: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"The environment variable {name} must be {expected}.")
