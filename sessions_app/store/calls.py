"""Tool calls: stored before they run, started at most once, ended exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Artifact, Entry, Session, ToolCall
from sessions_app.models.fields import dump_json
from sessions_app.store.entries import Draft, append
from sessions_app.store.fence import Fence, hold

State = ToolCall.State

_NOT_STARTED = "The run was stopped before this call was started. It did not run."
_NOT_KNOWN = "{} ended while this call ran. Whether it finished is not known; it is not run again."


class CallNotPending(Exception):
    """The call was started or ended before: it must not start now."""


@dataclass(frozen=True, slots=True)
class NewArtifact:
    id: UUID
    name: str
    mime_type: str
    data: bytes
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended. `text` is exactly what the model gets; `output` all of it where `text` was cut."""

    state: str
    text: str
    output: str | None = None
    artifacts: tuple[NewArtifact, ...] = ()
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class EndedCall:
    """`arguments` are parsed, or the text where that is no JSON object; None where they are not inline."""

    call: ToolCall
    entry: Entry
    call_entry_id: UUID
    arguments: Any


def start_call(fence: Fence, call_pk: UUID, started_at: datetime | None = None) -> ToolCall:
    """Take the call's one start. Raises CallNotPending, LeaseLost.

    With the `started_at` of a start whose answer got lost, that one is told again: nothing has run of it.
    """
    with transaction.atomic():
        hold(fence)
        at = started_at or timezone.now()
        mine = ToolCall.objects.filter(id=call_pk, session_id=fence.session_id)
        if mine.filter(state=State.PENDING).update(state=State.RUNNING, started_at=at) != 1:
            call = mine.filter(state=State.RUNNING, started_at=started_at).first() if started_at else None
            if call is None:
                raise CallNotPending(str(call_pk))
        return ToolCall.objects.get(id=call_pk)


def finish_call(fence: Fence, call_pk: UUID, result: CallResult) -> EndedCall:
    """Store how a call ended: its state, its result entry, what it displayed. Raises LeaseLost.

    A call that has ended stays as it is and is told again.
    """
    with transaction.atomic():
        session = hold(fence)
        call = ToolCall.objects.get(id=call_pk, session_id=fence.session_id)
        if call.ended_at is not None:
            return _told(call, Entry.objects.get(tool_call=call, kind=Entry.Kind.TOOL_RESULT))
        return _end(session, call, result)


def end_open_calls(session: Session, run_id: UUID, running_state: str) -> list[EndedCall]:
    """Give every call of a run that has none its result, in the caller's transaction.

    A call that never started is `interrupted`; one that was running gets `running_state`.
    """
    calls = ToolCall.objects.filter(run_id=run_id, state__in=[State.PENDING, State.RUNNING])
    ended = []
    for call in calls.order_by("step", "output_index"):
        started = call.state == State.RUNNING
        state = running_state if started else State.INTERRUPTED
        ended.append(_end(session, call, CallResult(state=state, text=untold_text(state, started=started))))
    return ended


def untold_text(state: str, *, started: bool) -> str:
    """What the model is told of a call whose own word there is none of. `started`: it may have run."""
    message = (
        _NOT_KNOWN.format("The server" if state == State.LOST else "The run") if started else _NOT_STARTED
    )
    error = {"name": state.capitalize(), "message": message, "traceback": ""}
    return dump_json({"status": state, "output": "", "truncated": False, "error": error, "displays": []})


def _end(session: Session, call: ToolCall, result: CallResult) -> EndedCall:
    size = len(result.text.encode())
    inline = size <= settings.ALBEDO["inline_bytes"]
    call.state = ToolCall.State(result.state)
    call.ended_at = timezone.now()
    call.duration_ms = result.duration_ms
    call.result_text = result.text if inline else ""
    call.result_bytes = size
    call.output_bytes = len(result.output.encode()) if result.output is not None else 0
    call.save(
        update_fields=["state", "ended_at", "duration_ms", "result_text", "result_bytes", "output_bytes"]
    )
    content: list[dict[str, Any]] = []
    large = {}
    if inline:
        content.append({"kind": "json", "field": "result", "value": result.text})
    else:
        large["result"] = result.text
    if result.output is not None:
        large["output"] = result.output
    content += _store_artifacts(session, call, result.artifacts)
    draft = Draft("tool_result", content=content, large=large, run_id=call.run_id, tool_call=call)
    (entry,) = append(session, [draft])
    return _told(call, entry)


def _told(call: ToolCall, entry: Entry) -> EndedCall:
    asked = Entry.objects.get(tool_call=call, kind=Entry.Kind.TOOL_CALL)
    arguments = next((part["value"] for part in asked.content if part.get("field") == "arguments"), None)
    return EndedCall(call, entry, asked.id, arguments)


def _store_artifacts(
    session: Session, call: ToolCall, artifacts: Sequence[NewArtifact]
) -> list[dict[str, Any]]:
    parts = []
    for artifact in artifacts:
        Artifact.objects.create(
            id=artifact.id,
            session=session,
            tool_call=call,
            name=artifact.name[:200],
            mime_type=artifact.mime_type,
            data=artifact.data,
            size_bytes=len(artifact.data),
            width=artifact.width,
            height=artifact.height,
            created_at=timezone.now(),
        )
        if artifact.mime_type.startswith("image/"):
            parts.append(
                {
                    "kind": "image",
                    "artifact_id": str(artifact.id),
                    "mime_type": artifact.mime_type,
                    "bytes": len(artifact.data),
                    "width": artifact.width,
                    "height": artifact.height,
                }
            )
    return parts
