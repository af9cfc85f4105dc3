"""Events of every type as a session would publish them, and a snapshot to fold them into."""

from __future__ import annotations

from typing import Any

from streaming.feed import live_state
from streaming.feed.events import Event

RUN = "0198c0de-0000-7000-8000-000000000001"
USAGE = {
    "input_tokens": None,
    "output_tokens": None,
    "cached_tokens": None,
    "reasoning_tokens": None,
    "cost": None,
    "source": "unknown",
}


def entry(position: int, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"entry-{position}",
        "position": position,
        "kind": kind,
        "run_id": RUN,
        "input_id": None,
        "created_at": "2026-01-01T00:00:00Z",
        "content": [{"kind": "text", "text": f"words of {position}"}],
        "content_complete": True,
        **more,
    }


def status(phase: str) -> Event:
    return Event(
        "status", {"phase": phase, "run_id": RUN, "interrupt_requested": False, "blocking_reason": None}
    )


def waiting_input(identity: str, order: int, state: str) -> Event:
    item = {"id": identity, "order": order, "state": state, "text": "hello", "when_busy": "queue"}
    return Event("input", {"input": item})


def delta(kind: str, offset: int, text: str, *, attempt: int = 1, message_id: str = "entry-4") -> Event:
    return Event(
        kind,
        {
            "run_id": RUN,
            "message_id": message_id,
            "attempt": attempt,
            "offset_scalars": offset,
            "text": text,
        },
    )


def progress(call_id: str, phase: str, chars: int) -> Event:
    call = {
        "call_id": call_id,
        "tool_call_id": f"native-{call_id}",
        "name": "python",
        "phase": phase,
        "arguments_chars": chars,
        "started_at": "2026-01-01T00:00:00Z",
    }
    return Event("tool_progress", {"progress": call})


def output(call_id: str, offset: int, text: str) -> Event:
    return Event("tool_output", {"run_id": RUN, "call_id": call_id, "offset_scalars": offset, "text": text})


def finished_call(position: int, call_id: str, result: str | None) -> Event:
    reference = None if result is not None else {"field": "result", "url": "/api/x", "bytes": 99}
    return Event(
        "tool",
        {
            "run_id": RUN,
            "entry_id": f"entry-{position}",
            "position": position,
            "created_at": "2026-01-01T00:00:00Z",
            "tool_call_id": f"native-{call_id}",
            "progress_call_id": call_id,
            "name": "python",
            "arguments": {"code": "1"},
            "result": result,
            "status": "ok",
            "duration_ms": 3,
            "content_complete": result is not None,
            "reference": reference,
            "references": [] if reference is None else [reference],
            "images": [],
        },
    )


def approval(identity: str, state: str) -> Event:
    return Event("approval", {"approval": {"id": identity, "state": state, "name": "python"}})


def retry(attempt: int) -> Event:
    return Event(
        "retry",
        {"run_id": RUN, "step": 1, "attempt": attempt, "cause": "reset", "detail": "", "delay_ms": 5},
    )


# One run with everything in it: a retry, two calls (one with a large result), an approval, an answer.
STORY: tuple[Event, ...] = (
    waiting_input("in-1", 1, "pending"),
    waiting_input("in-2", 2, "pending"),
    status("preparing"),
    waiting_input("in-1", 1, "committed"),
    Event("message", {"entry": entry(1, "user")}),
    status("generating"),
    delta("thinking", 0, "hm", message_id="entry-2"),
    delta("text", 0, "Let ", message_id="entry-2"),
    progress("call-0", "generating", 4),
    retry(1),
    delta("text", 0, "Let me look", attempt=2, message_id="entry-2"),
    progress("call-a", "generating", 4),
    progress("call-b", "generating", 9),
    progress("call-a", "generating", 12),
    Event("message", {"entry": entry(2, "assistant", message_id="entry-2")}),
    Event("message", {"entry": entry(3, "tool_call")}),
    approval("ask-1", "pending"),
    approval("ask-1", "approved"),
    progress("call-a", "running", 12),
    output("call-a", 0, "line 1\n"),
    output("call-a", 7, "line 2\n"),
    finished_call(4, "call-a", "done"),
    progress("call-b", "running", 9),
    finished_call(5, "call-b", None),
    Event("usage", {"run_id": RUN, "usage": {**USAGE, "input_tokens": 7, "source": "reported"}}),
    Event("note", {"code": "kernel_restarted", "text": "The kernel was restarted."}),
    delta("text", 0, "All done", message_id="entry-6"),
    Event("message", {"entry": entry(6, "assistant", message_id="entry-6")}),
    Event("error", {"run_id": RUN, "code": "example", "detail": "", "retryable": False}),
    Event("tool_progress", {"progress": None}),
    Event("turn_completed", {"run_id": RUN, "outcome": "completed", "input_ids": ["in-1"], "error": None}),
    Event("status", dict(live_state.IDLE)),
)


def fresh_state(generation: str = "1-abcd0123") -> live_state.State:
    return live_state.initial(
        generation,
        input_order=0,
        pending_inputs=[],
        pending_approvals=[],
        usage=USAGE,
        high_water=0,
    )


def snapshot_of(state: live_state.State, items: list[dict[str, Any]]) -> dict[str, Any]:
    """A snapshot as a page shows it: session fields, live part, history."""
    live = {name: value for name, value in state.items() if name != "high_water"}
    history = {"items": items, "older": None, "high_water": state["high_water"]}
    return {"id": "s", "name": "", **live, "history": history}
