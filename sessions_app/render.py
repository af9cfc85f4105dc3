"""How what is stored looks to a client: one shape, whether it comes by page, snapshot or event.

Pure: the caller loads what is shown (`select_related`); nothing here writes or decides who may see it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from sessions_app.models import Entry, Input, Run, ToolCall
from sessions_app.text import head

# Of an input's text in lists and events: 32 of this length stay far below a page.
PREVIEW_SCALARS = 500
TOKEN_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
TOOL_KINDS = frozenset({Entry.Kind.TOOL_CALL, Entry.Kind.TOOL_RESULT})
UNFINISHED_CALL = frozenset({ToolCall.State.PENDING, ToolCall.State.RUNNING})

Rendered = dict[str, Any]


def render_time(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, always with microseconds: such texts sort as the moments do."""
    if moment is None:
        return None
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def render_id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def content_url(session_id: UUID, entry_id: UUID, field: str) -> str:
    return f"/api/sessions/{session_id}/entries/{entry_id}/content/{field}"


def artifact_url(session_id: UUID, artifact_id: str | UUID) -> str:
    return f"/api/sessions/{session_id}/artifacts/{artifact_id}"


def render_usage(usage: Rendered) -> Rendered:
    """The usage object; what nobody reported is null, never zero."""
    counts: Rendered = {name: usage.get(name) for name in TOKEN_COUNTS}
    return {**counts, "cost": usage.get("cost"), "source": usage.get("source") or "unknown"}


def render_entry(entry: Entry) -> Rendered:
    """A history entry. Needs `tool_call` and `input` loaded."""
    rendered: Rendered = {
        "id": str(entry.id),
        "position": entry.position,
        "kind": str(entry.kind),
        "run_id": render_id(entry.run_id),
        "input_id": render_id(entry.input.uid) if entry.input else None,
        "created_at": render_time(entry.created_at),
        "content": [_render_part(entry, part) for part in entry.content],
        "content_complete": all(part["kind"] != "reference" for part in entry.content),
    }
    if entry.message_id is not None:
        rendered["message_id"] = str(entry.message_id)
    if entry.truncated:
        rendered["truncated"] = True
    if entry.kind in TOOL_KINDS and entry.tool_call is not None:
        rendered["tool"] = _render_identity(entry.tool_call, entry.kind)
    return rendered


def _render_identity(call: ToolCall, kind: str) -> Rendered:
    # An entry never changes: how a call ended is told by its result's entry, not by the call's own.
    status = "requested" if kind == Entry.Kind.TOOL_CALL else call_status(call)
    return {
        "tool_call_id": call.tool_call_id,
        "progress_call_id": call.call_id,
        "name": call.name,
        "status": status,
    }


def call_status(call: ToolCall) -> str:
    """`pending` until the call has ended: whether it executes right now is live state, not history."""
    return str(ToolCall.State.PENDING if call.state in UNFINISHED_CALL else call.state)


def _render_part(entry: Entry, part: Rendered) -> Rendered:
    if part["kind"] == "reference":
        return {"kind": "reference", "reference": _render_reference(entry, part)}
    if part["kind"] == "image":
        shown = {key: part.get(key) for key in ("mime_type", "bytes", "width", "height")}
        return {"kind": "image", "url": artifact_url(entry.session_id, part["artifact_id"]), **shown}
    return part


def _render_reference(entry: Entry, part: Rendered) -> Rendered:
    field = part["reference"]["field"]
    url = content_url(entry.session_id, entry.id, field)
    return {"field": field, "url": url, "bytes": part["reference"]["bytes"]}


def render_tool(
    call: ToolCall,
    entry: Entry,
    arguments: Any | None,
    *,
    call_entry_id: UUID,
    inline_bytes: int | None = None,
) -> Rendered:
    """The `tool` event of an ended call. `entry` is its `tool_result`, `call_entry_id` names its `tool_call`.

    `arguments` is their parsed JSON (malformed ones: their text); it is left out when they are larger than
    `inline_bytes` of UTF-8. `images` are the image parts that follow the result in the entry's content.
    """
    bound = settings.ALBEDO["inline_bytes"] if inline_bytes is None else inline_bytes
    references: list[Rendered] = []
    inline = call.arguments_bytes <= bound
    if not inline:
        url = content_url(call.session_id, call_entry_id, "arguments")
        references.append({"field": "arguments", "url": url, "bytes": call.arguments_bytes})
    parts = [_render_part(entry, part) for part in entry.content]
    references += [part["reference"] for part in parts if part["kind"] == "reference"]
    return {
        "run_id": str(call.run_id),
        "entry_id": str(entry.id),
        "position": entry.position,
        "created_at": render_time(entry.created_at),
        "tool_call_id": call.tool_call_id,
        "progress_call_id": call.call_id,
        "name": call.name,
        "arguments": arguments if inline else None,
        "result": next((part["value"] for part in parts if part.get("field") == "result"), None),
        "images": [part for part in parts if part["kind"] == "image"],
        "status": call_status(call),
        "duration_ms": call.duration_ms,
        "content_complete": not references,
        "reference": references[0] if references else None,
        "references": references,
    }


def render_input(item: Input, preview_scalars: int | None = None) -> Rendered:
    """An input. `preview_scalars` bounds its text, for lists and events. Needs its run, if any, loaded."""
    text = item.text if preview_scalars is None else head(item.text, preview_scalars)
    ended = item.run if item.run is not None and item.run.state != Run.State.RUNNING else None
    return {
        "id": str(item.uid),
        "text": text,
        "text_complete": text == item.text,
        "attachments": [],
        "when_busy": str(item.when_busy),
        "state": str(item.state),
        "order": item.order,
        "run_id": render_id(item.run_id),
        "outcome": str(ended.state) if ended else None,
        "created_at": render_time(item.created_at),
    }


def render_run(run: Run) -> Rendered:
    """A run with its inputs' ids in order. Needs `inputs` prefetched."""
    return {
        "id": str(run.id),
        "session_id": str(run.session_id),
        "state": str(run.state),
        "input_ids": [str(item.uid) for item in sorted(run.inputs.all(), key=lambda item: item.order)],
        "steps": run.steps,
        "provider": run.provider,
        "model": run.model,
        "usage": render_usage(run.usage),
        "error": run.error,
        "started_at": render_time(run.started_at),
        "ended_at": render_time(run.ended_at),
        "interrupt": _render_interrupt(run),
    }


def _render_interrupt(run: Run) -> Rendered | None:
    """The proof of a stop, or null where none was asked for."""
    if run.interrupt_requested_at is None:
        return None
    return {
        "requested_at": render_time(run.interrupt_requested_at),
        "by": run.interrupt_by,
        "provider_closed_at": render_time(run.provider_closed_at),
        "tool_interrupted_at": render_time(run.tool_interrupted_at),
        "kernel": run.kernel or None,
        "settled_at": render_time(run.settled_at),
    }
