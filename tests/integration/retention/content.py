"""Sessions with content, made row by row: what a removal finds is what matters, not how it came there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app import workspaces
from sessions_app.ids import new_id
from sessions_app.models import (
    Artifact,
    ContentChunk,
    Entry,
    Input,
    ProviderAttempt,
    Run,
    Session,
    ToolCall,
)
from sessions_app.store import retention

PIECE = "x" * 32_768


def full_session(
    owner: User,
    *,
    days: float = 0,
    entries: int = 3,
    pieces: int = 0,
    folder: Path | None = None,
    **fields: Any,
) -> Session:
    """One answered input, a tool call with a display, and `entries` lines; each has `pieces` of 32 KiB."""
    session_id = new_id()
    then = timezone.now() - timedelta(days=days)
    workspace = folder or workspaces.make_default(session_id)
    session = Session.objects.create(
        id=session_id,
        owner=owner,
        workspace=str(workspace),
        created_at=then,
        activity_at=then,
        input_order=1,
        **fields,
    )
    run = Run.objects.create(
        session=session, generation=1, state=Run.State.COMPLETED, started_at=then, ended_at=then
    )
    asked = Input.objects.create(
        session=session,
        order=1,
        text="hello",
        state=Input.State.COMMITTED,
        run=run,
        fingerprint="",
        created_at=then,
    )
    call = ToolCall.objects.create(
        session=session,
        run=run,
        generation=1,
        step=1,
        attempt=1,
        output_index=0,
        call_id="c",
        tool_call_id="t",
        name="python",
        state=ToolCall.State.OK,
        created_at=then,
    )
    Artifact.objects.create(
        session=session, tool_call=call, mime_type="image/png", data=b"x" * 9, size_bytes=9, created_at=then
    )
    ProviderAttempt.objects.create(
        session=session, run=run, step=1, attempt=1, started_at=then, ended_at=then, record={"a": "b"}
    )
    made = Entry.objects.bulk_create(
        Entry(
            session=session,
            position=number,
            kind="user",
            run=run,
            input=asked,
            tool_call=call,
            created_at=then,
        )
        for number in range(1, entries + 1)
    )
    ContentChunk.objects.bulk_create(
        ContentChunk(entry=entry, field="text", offset_bytes=part * 32_768, length_bytes=32_768, text=PIECE)
        for entry in made
        for part in range(pieces)
    )
    (workspace / "made.txt").write_text("by a tool")
    return session


def rows_of(session_id: Any) -> int:
    """Every row that is of a session, its own included."""
    related = Session._meta.related_objects
    count = sum(
        relation.related_model._base_manager.filter(**{relation.field.name: session_id}).count()
        for relation in related
    )
    count += ContentChunk.objects.filter(entry__session_id=session_id).count()
    return count + Session.every.filter(id=session_id).count()


def marked(session: Session) -> retention.Removal:
    removal = retention.new_removal(session.id)
    retention.mark_deleted(removal, force=False)
    return removal
