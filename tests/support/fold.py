"""Folding events into a snapshot, written from the contract's words and nothing else."""

from __future__ import annotations

import copy
from typing import Any

MESSAGE_BYTES = 64 * 1024
OUTPUT_BYTES = 16 * 1024

Snapshot = dict[str, Any]


def fold(snapshot: Snapshot, generation: str, event: dict[str, Any]) -> Snapshot:
    """The snapshot after `event`."""
    after = copy.deepcopy(snapshot)
    data = event["data"]
    rule = RULES.get(event["type"])
    if rule is not None:
        rule(after, data)
    after["cursor"] = {"generation": generation, "sequence": event["sequence"]}
    return after


def _status(view: Snapshot, data: Any) -> None:
    view["status"] = data


def _input(view: Snapshot, data: Any) -> None:
    item = data["input"]
    rest = [known for known in view["pending_inputs"] if known["id"] != item["id"]]
    if item["state"] == "pending":
        rest.append(item)
    view["pending_inputs"] = sorted(rest, key=lambda known: known["order"])
    view["input_order"] = max(view["input_order"], item["order"])


def _text(field: str) -> Any:
    def rule(view: Snapshot, data: Any) -> None:
        current = view["current_message"]
        mine = {name: data[name] for name in ("run_id", "message_id", "attempt")}
        if current is None or any(current[name] != value for name, value in mine.items()):
            empty = {"offset_scalars": 0, "text": ""}
            current = {**mine, "text": dict(empty), "thinking": dict(empty)}
        current[field] = _extended(current[field], data, MESSAGE_BYTES)
        view["current_message"] = current

    return rule


def _extended(held: dict[str, Any], data: Any, bound_bytes: int) -> dict[str, Any]:
    end = held["offset_scalars"] + len(held["text"])
    if data["offset_scalars"] > end:
        held, end = {"offset_scalars": data["offset_scalars"], "text": ""}, data["offset_scalars"]
    text = held["text"] + data["text"][end - data["offset_scalars"] :]
    kept = text
    while len(kept.encode()) > bound_bytes:
        excess = len(kept.encode()) - bound_bytes
        kept = kept[max(1, excess // 4) :]
    return {"offset_scalars": held["offset_scalars"] + len(text) - len(kept), "text": kept}


def _append(view: Snapshot, entry: dict[str, Any]) -> None:
    history = view["history"]
    if entry["position"] > history["high_water"]:
        history["items"].append(entry)
        history["high_water"] = entry["position"]


def _message(view: Snapshot, data: Any) -> None:
    entry, current = data["entry"], view["current_message"]
    _append(view, entry)
    if current is not None and entry.get("message_id") == current["message_id"]:
        view["current_message"] = None


def _progress(view: Snapshot, data: Any) -> None:
    shown = data["progress"]
    if shown is None:
        view["current_progress"] = []
        return
    for at, known in enumerate(view["current_progress"]):
        if known["call_id"] == shown["call_id"]:
            view["current_progress"][at] = shown
            return
    view["current_progress"].append(shown)


def _output(view: Snapshot, data: Any) -> None:
    for known in view["current_output"]:
        if known["call_id"] == data["call_id"]:
            known.update(_extended(known, data, OUTPUT_BYTES))
            return
    empty = {"offset_scalars": 0, "text": ""}
    held = _extended(empty, data, OUTPUT_BYTES)
    view["current_output"].append({"call_id": data["call_id"], **held})


def _tool(view: Snapshot, data: Any) -> None:
    mine = data["progress_call_id"]
    for name in ("current_progress", "current_output"):
        view[name] = [known for known in view[name] if known["call_id"] != mine]
    if data["result"] is not None:
        content: list[Any] = [{"kind": "json", "field": "result", "value": data["result"]}]
    else:
        content = []
    content += data["images"]
    referenced = [ref for ref in data["references"] if ref["field"] != "arguments"]
    content += [{"kind": "reference", "reference": ref} for ref in referenced]
    tool = {name: data[name] for name in ("tool_call_id", "progress_call_id", "name", "status")}
    entry = {
        "id": data["entry_id"],
        "position": data["position"],
        "kind": "tool_result",
        "run_id": data["run_id"],
        "input_id": None,
        "created_at": data["created_at"],
        "content": content,
        "content_complete": not referenced,
        "tool": tool,
    }
    _append(view, entry)


def _retry(view: Snapshot, data: Any) -> None:
    current = view["current_message"]
    if current is not None and (current["run_id"], current["attempt"]) == (data["run_id"], data["attempt"]):
        view["current_message"] = None
    view["current_progress"] = []


def _usage(view: Snapshot, data: Any) -> None:
    view["usage"] = data["usage"]


def _turn_completed(view: Snapshot, data: Any) -> None:
    view["current_message"] = None
    view["current_progress"] = []


RULES: dict[str, Any] = {
    "status": _status,
    "input": _input,
    "text": _text("text"),
    "thinking": _text("thinking"),
    "message": _message,
    "tool_progress": _progress,
    "tool_output": _output,
    "tool": _tool,
    "retry": _retry,
    "usage": _usage,
    "turn_completed": _turn_completed,
}


def comparable(snapshot: Snapshot | None) -> Snapshot:
    """A snapshot without what no event tells of: the last activity, and the token for older pages."""
    assert snapshot is not None
    shown = {name: value for name, value in snapshot.items() if name != "activity_at"}
    history = {name: value for name, value in snapshot["history"].items() if name != "older"}
    return {**shown, "history": history}
