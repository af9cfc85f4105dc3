"""What the terminal knows of a session: a snapshot, and the events behind it folded in. Pure.

A guest's own small copy of the contract's folding: it keeps only what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A terminal shows a screenful; this is a bound, not a promise.
TAIL_SCALARS = 16_000
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tail:
    """The newest part of a text that grows; `offset` scalars stand before it."""

    offset: int = 0
    text: str = ""

    def extended(self, offset: int, text: str) -> Tail:
        """What lies before the known end is passed over; a text behind a hole starts anew."""
        end = self.offset + len(self.text)
        if offset > end:
            return Tail(offset, text).bounded()
        return Tail(self.offset, self.text + text[end - offset :]).bounded()

    def bounded(self) -> Tail:
        surplus = len(self.text) - TAIL_SCALARS
        return self if surplus <= 0 else Tail(self.offset + surplus, self.text[surplus:])


@dataclass(slots=True)
class Applied:
    """What a batch told: completed entries in order, runs that ended, words for the user."""

    entries: list[Data] = field(default_factory=list)
    ended: list[Data] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    reset: bool = False


class View:
    """Folds batches. `cursor` is where to come back to, None before the first snapshot.

    `lost` says that something is missing: attach again with the cursor.
    """

    def __init__(self) -> None:
        self.cursor: tuple[str, int] | None = None
        self.lost = False
        self.status: Data = {"phase": "idle", "run_id": None}
        self.input_order = 0
        self.high_water = 0
        self._key: tuple[Any, Any, Any] | None = None
        self.tails: dict[str, Tail] = {}
        self.progress: dict[str, Data] = {}
        self.output: dict[str, Tail] = {}
        self._forget_message()

    def apply(self, batch: Data) -> Applied:
        applied = Applied()
        events = list(batch["events"])
        begins_anew = bool(events) and events[0]["type"] == "reset"
        if begins_anew and "snapshot" in batch:
            self._restart(batch["snapshot"], applied)
            events = events[1:]
        elif begins_anew or self.cursor is None or batch["generation"] != self.cursor[0]:
            self.lost = True
            return applied
        self.lost = not all(self._follow(event, applied) for event in events) or self._is_behind(batch)
        return applied

    def _is_behind(self, batch: Data) -> bool:
        return self.cursor is None or bool(batch["cursor"] > self.cursor[1])

    def _restart(self, snapshot: Data, applied: Applied) -> None:
        self.cursor = (snapshot["cursor"]["generation"], snapshot["cursor"]["sequence"])
        self.status, self.input_order = snapshot["status"], snapshot["input_order"]
        self._forget_message()
        self._forget_calls()
        applied.reset = True
        for entry in snapshot["history"]["items"]:
            self._entry(entry, applied)
        message = snapshot["current_message"]
        if message:
            self._key = _message_key(message)
            for name in ("text", "thinking"):
                self.tails[name] = Tail(message[name]["offset_scalars"], message[name]["text"]).bounded()
        self.progress = {item["call_id"]: item for item in snapshot["current_progress"]}
        for item in snapshot["current_output"]:
            self.output[item["call_id"]] = Tail(item["offset_scalars"], item["text"]).bounded()

    def _follow(self, event: Data, applied: Applied) -> bool:
        """Fold one event; False where the one before it is missing."""
        assert self.cursor is not None
        generation, sequence = self.cursor
        if event["sequence"] <= sequence:
            return True
        if event["sequence"] != sequence + 1:
            return False
        self.cursor = (generation, event["sequence"])
        rule = getattr(self, f"_on_{event['type']}", None)
        if rule is not None:
            rule(event["data"], applied)
        return True

    def _entry(self, entry: Data, applied: Applied) -> None:
        if entry["position"] <= self.high_water:
            return
        self.high_water = entry["position"]
        applied.entries.append(entry)

    def _on_status(self, data: Data, applied: Applied) -> None:
        self.status = data

    def _on_input(self, data: Data, applied: Applied) -> None:
        self.input_order = max(self.input_order, data["input"]["order"])

    def _on_text(self, data: Data, applied: Applied) -> None:
        self._grow("text", data)

    def _on_thinking(self, data: Data, applied: Applied) -> None:
        self._grow("thinking", data)

    def _grow(self, name: str, data: Data) -> None:
        if self._key != _message_key(data):
            self._forget_message()
            self._key = _message_key(data)
        self.tails[name] = self.tails[name].extended(data["offset_scalars"], data["text"])

    def _on_message(self, data: Data, applied: Applied) -> None:
        entry = data["entry"]
        if self._key is not None and entry.get("message_id") == self._key[1]:
            self._forget_message()
        self._entry(entry, applied)

    def _on_tool_progress(self, data: Data, applied: Applied) -> None:
        progress = data["progress"]
        if progress is None:
            self.progress.clear()
        else:
            self.progress[progress["call_id"]] = progress

    def _on_tool_output(self, data: Data, applied: Applied) -> None:
        known = self.output.get(data["call_id"], Tail())
        self.output[data["call_id"]] = known.extended(data["offset_scalars"], data["text"])

    def _on_tool(self, data: Data, applied: Applied) -> None:
        self.progress.pop(data["progress_call_id"], None)
        self.output.pop(data["progress_call_id"], None)
        self._entry(result_entry(data), applied)

    def _on_retry(self, data: Data, applied: Applied) -> None:
        if self._key is not None and (self._key[0], self._key[2]) == (data["run_id"], data["attempt"]):
            self._forget_message()
        self.progress.clear()
        wait = data["delay_ms"] / 1_000
        applied.told.append(
            f"Attempt {data['attempt']} failed ({data['detail'] or data['cause']}); again in {wait:.1f} s."
        )

    def _on_note(self, data: Data, applied: Applied) -> None:
        applied.told.append(data["text"] or data["code"])

    def _on_error(self, data: Data, applied: Applied) -> None:
        applied.told.append(f"{data['code']}: {data['detail']}")

    def _on_turn_completed(self, data: Data, applied: Applied) -> None:
        self._forget_message()
        self._forget_calls()
        applied.ended.append(data)

    def _forget_message(self) -> None:
        self._key = None
        self.tails = {"text": Tail(), "thinking": Tail()}

    def _forget_calls(self) -> None:
        self.progress.clear()
        self.output.clear()


def _message_key(data: Data) -> tuple[Any, Any, Any]:
    return data["run_id"], data["message_id"], data["attempt"]


def result_entry(data: Data) -> Data:
    """The `tool_result` entry that a `tool` event stands for, as far as a terminal shows it."""
    inline = data["result"] is not None
    content = [{"kind": "json", "field": "result", "value": data["result"]}] if inline else []
    names = ("tool_call_id", "progress_call_id", "name", "status", "duration_ms")
    tool = {name: data[name] for name in names}
    return {"position": data["position"], "kind": "tool_result", "content": content, "tool": tool}
