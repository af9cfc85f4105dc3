"""Every number that an operator may turn: `settings.ALBEDO[name]`, set by the variable `ALBEDO_<NAME>`.

The live half's rows come from the dataclasses in `streaming.limits` (`<group>_<field>`), which own
those defaults; `tunables_live` says what each is for. The lasting half's rows stand in `tunables_lasting`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from albedo_project.env import Env
from albedo_project.tunables_lasting import LASTING
from albedo_project.tunables_live import REASONS
from albedo_project.tunables_row import Number, Tunable
from streaming.limits import Limits

PREFIX = "ALBEDO_"


def live_tunables() -> Iterator[Tunable]:
    """One row for each field of each group of `Limits`. A field without a reason is a KeyError."""
    limits = Limits()
    for group in fields(limits):
        values = getattr(limits, group.name)
        for field in fields(values):
            name = f"{group.name}_{field.name}"
            yield Tunable(name, getattr(values, field.name), REASONS[name], f"streaming, {group.name}")


TUNABLES: tuple[Tunable, ...] = (*LASTING, *live_tunables())
VARIABLE_NAMES: tuple[str, ...] = tuple(PREFIX + row.name.upper() for row in TUNABLES)


def read_tunables(env: Env) -> dict[str, Number]:
    """Each tunable's value: its variable if given, of the default's own type, else the default."""
    return {row.name: _value(env, row) for row in TUNABLES}


def _value(env: Env, row: Tunable) -> Number:
    variable = PREFIX + row.name.upper()
    if isinstance(row.default, bool):
        return env.flag(variable, row.default)
    if isinstance(row.default, int):
        return env.integer(variable, row.default, int(row.minimum))
    return env.number(variable, row.default, row.minimum)
