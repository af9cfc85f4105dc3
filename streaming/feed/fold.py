"""Folding events into a snapshot: the snapshot before, and an event, give the snapshot after.

Pure. The live part is the actor's own (`live_state`); what is added here is the history, whose entries the
events carry or can be turned into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streaming.feed.live_state import DEFAULT_BOUNDS, Bounds, fold_live

Snapshot = dict[str, Any]

LIVE_FIELDS = (
    "status",
    "input_order",
    "pending_inputs",
    "pending_approvals",
    "current_message",
    "current_progress",
    "current_output",
    "usage",
    "cursor",
)


def fold(snapshot: Snapshot, event: Mapping[str, Any], bounds: Bounds = DEFAULT_BOUNDS) -> Snapshot:
    """The snapshot after `event`. History grows at its end; how much of it to keep is the caller's choice."""
    history = snapshot["history"]
    live = {name: snapshot[name] for name in LIVE_FIELDS} | {"high_water": history["high_water"]}
    folded = fold_live(live, event, bounds)
    high_water = folded.pop("high_water")
    return {
        **snapshot,
        **folded,
        "history": _grown(history, entry_of(event), high_water),
    }


def _grown(history: dict[str, Any], entry: dict[str, Any] | None, high_water: int) -> dict[str, Any]:
    # Positions never repeat: what is not above the mark is known, also where its page was left out.
    if entry is None or entry["position"] <= history["high_water"]:
        return history
    return {**history, "items": [*history["items"], entry], "high_water": high_water}


def entry_of(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The history entry that an event stands for, if it stands for one."""
    if event["type"] == "message":
        return dict(event["data"]["entry"])
    if event["type"] == "tool":
        return tool_result_entry(event["data"])
    return None


def tool_result_entry(data: Mapping[str, Any]) -> dict[str, Any]:
    """The `tool_result` entry of a finished call, from its `tool` event's data: the result, then its images.

    The event's own `content_complete` counts the arguments too; they stand in another entry.
    """
    parts: list[dict[str, Any]] = [
        {"kind": "reference", "reference": held} for held in data["references"] if held["field"] == "result"
    ]
    inline = not parts
    if inline:
        parts = [{"kind": "json", "field": "result", "value": data["result"]}]
    return {
        "id": data["entry_id"],
        "position": data["position"],
        "kind": "tool_result",
        "run_id": data["run_id"],
        "input_id": None,
        "created_at": data["created_at"],
        "content": [*parts, *data["images"]],
        "content_complete": inline,
        "tool": {name: data[name] for name in ("tool_call_id", "progress_call_id", "name", "status")},
    }
