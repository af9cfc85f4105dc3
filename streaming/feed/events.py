"""What a session says: the kinds of events, what each must carry, and their one encoding.

Pure: no Django, no clock, no transport. An event is encoded here once and travels as text from then on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, not yet numbered."""

    type: str
    data: dict[str, Any]


# The fields that every event of a type carries (contract section 5); more are allowed, fewer never.
EVENT_FIELDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "reset": frozenset({"reason"}),
        "status": frozenset({"phase", "run_id", "interrupt_requested", "blocking_reason"}),
        "input": frozenset({"input"}),
        "text": frozenset({"run_id", "message_id", "attempt", "offset_scalars", "text"}),
        "thinking": frozenset({"run_id", "message_id", "attempt", "offset_scalars", "text"}),
        "message": frozenset({"entry"}),
        "tool_progress": frozenset({"progress"}),
        "tool_output": frozenset({"run_id", "call_id", "offset_scalars", "text"}),
        # `position`, `created_at`, `images` and `references` are what the result's history entry needs.
        "tool": frozenset(
            {
                "run_id",
                "entry_id",
                "position",
                "created_at",
                "tool_call_id",
                "progress_call_id",
                "name",
                "arguments",
                "result",
                "status",
                "duration_ms",
                "content_complete",
                "reference",
                "references",
                "images",
            }
        ),
        "approval": frozenset({"approval"}),
        "retry": frozenset({"run_id", "step", "attempt", "cause", "detail", "delay_ms"}),
        "usage": frozenset({"run_id", "usage"}),
        "turn_completed": frozenset({"run_id", "outcome", "input_ids", "error"}),
        "note": frozenset({"code", "text"}),
        "error": frozenset({"run_id", "code", "detail", "retryable"}),
    }
)

# The same for the object that an event carries, where folding depends on its fields.
_INNER_FIELDS: Mapping[tuple[str, str], frozenset[str]] = MappingProxyType(
    {
        ("input", "input"): frozenset({"id", "order", "state"}),
        ("message", "entry"): frozenset({"id", "position", "kind", "content", "content_complete"}),
        ("approval", "approval"): frozenset({"id", "state"}),
        ("tool_progress", "progress"): frozenset({"call_id", "name", "phase", "arguments_chars"}),
    }
)


def problems(event: Mapping[str, Any]) -> list[str]:
    """What is wrong with a decoded event on the wire, in words; empty where it keeps the contract."""
    kind, data = event.get("type"), event.get("data")
    required = EVENT_FIELDS.get(str(kind))
    if required is None:
        return [f"unknown type {kind!r}"]
    if not isinstance(data, Mapping):
        return [f"{kind}: data is no object"]
    found = [f"{kind}: {name} is missing" for name in sorted(required - data.keys())]
    if (kind == "reset") == ("sequence" in event):
        found.append(f"{kind}: a reset has no sequence, every other event has one")
    return found + _inner_problems(str(kind), data)


def _inner_problems(kind: str, data: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for (owner, field), required in _INNER_FIELDS.items():
        value = data.get(field)
        if owner == kind and isinstance(value, Mapping):
            found += [f"{kind}: {field}.{name} is missing" for name in sorted(required - value.keys())]
    return found


def encode(value: Any) -> str:
    """`value` as compact JSON text that UTF-8 can carry. A lone surrogate shows as U+FFFD.

    Raises ValueError for what JSON has no word for.
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # Integers beyond 64 bits, deep nesting and lone surrogates are where the fast encoder gives up.
        return _encode_slowly(value)


def _encode_slowly(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not encodable: {error}") from error
    return _SURROGATE.sub("\ufffd", text)


def encode_event(event: Event, sequence: int | None) -> str:
    """The event as it stands in a batch; only a reset has no sequence."""
    numbered = {} if sequence is None else {"sequence": sequence}
    return encode({"type": event.type, **numbered, "data": event.data})
