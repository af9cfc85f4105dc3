"""The shape of one tunable, and how its unit follows from its name."""

from __future__ import annotations

from dataclasses import dataclass

Number = int | float

UNITS = ("bytes", "seconds", "chars", "scalars", "events")


@dataclass(frozen=True, slots=True)
class Tunable:
    """`default` gives the type; `minimum` is the least value that an operator may set."""

    name: str
    default: Number
    reason: str
    used_in: str
    minimum: float = 0

    @property
    def unit(self) -> str:
        last = self.name.rsplit("_", 1)[-1]
        if last in UNITS:
            return last
        if last == "timeout":
            return "seconds"
        return "flag" if isinstance(self.default, bool) else "count"
