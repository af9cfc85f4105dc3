"""What is live in a session, and how each event changes it.

Pure: the actor folds what it publishes with these functions and captures the outcome; clients and tests
fold the same events. Replay equals live because there is one definition. Nothing here is changed in place:
a captured state stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from streaming.feed import tails

State = dict[str, Any]
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of provisional text and of running calls' output the live part keeps, each in bytes."""

    message_bytes: int = 64 * 1024
    output_bytes: int = 16 * 1024


DEFAULT_BOUNDS = Bounds()

IDLE: Mapping[str, Any] = MappingProxyType(
    {
        "phase": "idle",
        "run_id": None,
        "interrupt_requested": False,
        "blocking_reason": None,
    }
)


def initial(
    generation: str,
    *,
    input_order: int,
    pending_inputs: list[dict[str, Any]],
    pending_approvals: list[dict[str, Any]],
    usage: dict[str, Any],
    high_water: int,
) -> State:
    """The live part as a new actor begins with it: what is durable, and nothing of its forerunner."""
    return {
        "status": dict(IDLE),
        "input_order": input_order,
        "pending_inputs": pending_inputs,
        "pending_approvals": pending_approvals,
        "current_message": None,
        "current_progress": [],
        "current_output": [],
        "usage": usage,
        "high_water": high_water,
        "cursor": {"generation": generation, "sequence": 0},
    }


def fold_live(state: State, event: Mapping[str, Any], bounds: Bounds = DEFAULT_BOUNDS) -> State:
    """The live part after one event. An event without `sequence` (a waiting one) leaves the cursor alone.

    An unknown type changes nothing but the cursor.
    """
    rule = _RULES.get(event["type"])
    changed = dict(state) if rule is None else {**state, **rule(state, event["data"], bounds)}
    if "sequence" in event:
        changed["cursor"] = {**state["cursor"], "sequence": event["sequence"]}
    return changed


def _status(state: State, data: Data, bounds: Bounds) -> State:
    return {"status": dict(data)}


def _input(state: State, data: Data, bounds: Bounds) -> State:
    item = data["input"]
    others = [known for known in state["pending_inputs"] if known["id"] != item["id"]]
    if item["state"] == "pending":
        others = sorted([*others, item], key=lambda known: int(known["order"]))
    return {
        "pending_inputs": others,
        "input_order": max(state["input_order"], item["order"]),
    }


def _current_message(state: State, data: Data) -> dict[str, Any]:
    message = state["current_message"]
    identity = {name: data[name] for name in ("run_id", "message_id", "attempt")}
    if message is not None and all(message[name] == value for name, value in identity.items()):
        return dict(message)
    return {**identity, "text": tails.EMPTY, "thinking": tails.EMPTY}


def _delta(field: str) -> Rule:
    def rule(state: State, data: Data, bounds: Bounds) -> State:
        message = _current_message(state, data)
        message[field] = tails.extend(
            message[field], data["offset_scalars"], data["text"], bounds.message_bytes
        )
        return {"current_message": message}

    return rule


def _message(state: State, data: Data, bounds: Bounds) -> State:
    entry, current = data["entry"], state["current_message"]
    ended = current is not None and entry.get("message_id") == current["message_id"]
    return {
        "current_message": None if ended else current,
        "high_water": max(state["high_water"], entry["position"]),
    }


def _tool_progress(state: State, data: Data, bounds: Bounds) -> State:
    progress = data["progress"]
    if progress is None:
        return {"current_progress": []}
    return {"current_progress": _upsert(state["current_progress"], "call_id", progress)}


def _tool_output(state: State, data: Data, bounds: Bounds) -> State:
    call_id = data["call_id"]
    known = next(
        (item for item in state["current_output"] if item["call_id"] == call_id),
        tails.EMPTY,
    )
    tail = {name: known[name] for name in ("offset_scalars", "text")}
    grown = tails.extend(tail, data["offset_scalars"], data["text"], bounds.output_bytes)
    return {"current_output": _upsert(state["current_output"], "call_id", {"call_id": call_id, **grown})}


def _tool(state: State, data: Data, bounds: Bounds) -> State:
    call_id = data["progress_call_id"]
    return {
        "current_progress": [item for item in state["current_progress"] if item["call_id"] != call_id],
        "current_output": [item for item in state["current_output"] if item["call_id"] != call_id],
        "high_water": max(state["high_water"], data["position"]),
    }


def _approval(state: State, data: Data, bounds: Bounds) -> State:
    approval = data["approval"]
    if approval["state"] == "pending":
        return {"pending_approvals": _upsert(state["pending_approvals"], "id", approval)}
    return {
        "pending_approvals": [held for held in state["pending_approvals"] if held["id"] != approval["id"]]
    }


def _retry(state: State, data: Data, bounds: Bounds) -> State:
    current = state["current_message"]
    voided = current is not None and all(current[name] == data[name] for name in ("run_id", "attempt"))
    return {"current_message": None if voided else current, "current_progress": []}


def _usage(state: State, data: Data, bounds: Bounds) -> State:
    return {"usage": data["usage"]}


def _turn_completed(state: State, data: Data, bounds: Bounds) -> State:
    return {"current_message": None, "current_progress": []}


def _upsert(items: list[dict[str, Any]], key: str, item: dict[str, Any]) -> list[dict[str, Any]]:
    if all(known[key] != item[key] for known in items):
        return [*items, item]
    return [item if known[key] == item[key] else known for known in items]


Rule = Callable[[State, Data, Bounds], State]

# `reset`, `note` and `error` tell and change nothing: a reset's snapshot replaces the state as a whole.
_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "status": _status,
        "input": _input,
        "text": _delta("text"),
        "thinking": _delta("thinking"),
        "message": _message,
        "tool_progress": _tool_progress,
        "tool_output": _tool_output,
        "tool": _tool,
        "approval": _approval,
        "retry": _retry,
        "usage": _usage,
        "turn_completed": _turn_completed,
    }
)
