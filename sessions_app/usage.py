"""Token counts as they add up: what is unknown stays unknown, and is never shown as zero."""

from __future__ import annotations

from typing import Any

COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost")
_SOURCES = ("reported", "estimated", "unknown")


def add_usage(total: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """`total` plus one response's `part`. The sum is only as good as its least known term."""
    added = {name: _add(total.get(name), part.get(name)) for name in COUNTS}
    sources = [part.get("source", "unknown")] + ([total["source"]] if total else [])
    return {**added, "source": max(sources, key=_SOURCES.index)}


def _add(total: float | None, part: float | None) -> float | None:
    if part is None:
        return total
    return part if total is None else total + part
