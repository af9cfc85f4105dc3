"""Token counts as the many dialects of both protocols report them. What is absent stays unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from streaming.providers.types import Usage

# Beyond this a count is garbage, not tokens; it must also fit a database integer.
_MAX_TOKENS = 1 << 53


def read_usage(value: object) -> Usage | None:
    """The counts of a `usage` object, or None where it tells nothing (absent, `{}`, all null)."""
    if not isinstance(value, dict):
        return None
    sent = _details(value, "prompt_tokens_details", "input_tokens_details")
    made = _details(value, "completion_tokens_details", "output_tokens_details")
    usage = Usage(
        input_tokens=_first_count(value, "prompt_tokens", "input_tokens"),
        output_tokens=_first_count(value, "completion_tokens", "output_tokens"),
        cached_tokens=_either(
            _first_count(sent, "cached_tokens"),
            _first_count(value, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"),
        ),
        reasoning_tokens=_either(
            _first_count(made, "reasoning_tokens"), _first_count(value, "reasoning_tokens")
        ),
        cost=_cost(value.get("cost")),
        source="reported",
    )
    return None if usage == Usage(source="reported") else usage


def merge_usage(old: Usage, new: Usage) -> Usage:
    """`new`, with what only `old` knew: some servers report each half in another chunk."""
    return Usage(
        input_tokens=_either(new.input_tokens, old.input_tokens),
        output_tokens=_either(new.output_tokens, old.output_tokens),
        cached_tokens=_either(new.cached_tokens, old.cached_tokens),
        reasoning_tokens=_either(new.reasoning_tokens, old.reasoning_tokens),
        cost=new.cost if new.cost is not None else old.cost,
        source="reported",
    )


def _details(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((value[name] for name in names if isinstance(value.get(name), dict)), {})


def _first_count(value: Mapping[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := _count(value.get(name))) is not None), None)


def _either(first: int | None, second: int | None) -> int | None:
    return first if first is not None else second


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MAX_TOKENS else None


def _cost(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MAX_TOKENS and math.isfinite(value) else None
