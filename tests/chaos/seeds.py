"""Which seeds a row runs: a few by default, all of `CHAOS_SEEDS`, or the one that `CHAOS_SEED` names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

Test = Callable[..., None]


# Asked for more than the few trials of the whole suite: then a trial may be as long as its row says.
MANY = "CHAOS_SEEDS" in os.environ


def row(name: str, seeds: int = 1) -> Callable[[Test], Any]:
    """Make a test a row of the fault table. It takes `seed` through `rig`; `seeds` are run by default.

    With no seeds by default it is only for those who ask for many.
    """

    def decorate(test: Test) -> Any:
        setattr(test, "chaos_row", name)  # noqa: B010
        assert name.lower() in test.__name__, f"{test.__name__} does not name its row {name}"
        if not seeds and not MANY:
            test = pytest.mark.skip(reason=f"{name} takes long: make chaos ROW={name}")(test)
        return pytest.mark.parametrize("seed", chosen(seeds), ids=lambda seed: f"seed{seed}")(test)

    return decorate


def chosen(default: int) -> list[int]:
    if one := os.environ.get("CHAOS_SEED"):
        return [int(one)]
    return list(range(1, 1 + int(os.environ.get("CHAOS_SEEDS") or max(default, 1))))


def replay(item: pytest.Item) -> str:
    """The command that runs this very trial again; "" for what is no row."""
    name = getattr(getattr(item, "function", None), "chaos_row", "")
    spec = getattr(item, "callspec", None)
    if not name or spec is None:
        return ""
    target = os.environ.get("CHAOS_TARGET", "")
    return f"make chaos ROW={name} SEED={spec.params['seed']}" + (f" TARGET={target}" if target else "")
