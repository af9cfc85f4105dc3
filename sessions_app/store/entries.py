"""Append to a session's history: positions are dense, from 1, and never reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from sessions_app.ids import new_id
from sessions_app.models import Entry, Input, Session, ToolCall
from sessions_app.models.fields import dump_json
from sessions_app.store.content import reference_part, write_chunks


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be: `large` names the fields that go to chunks, in the order of their parts."""

    kind: str
    content: list[dict[str, Any]] = field(default_factory=list)
    large: dict[str, str] = field(default_factory=dict)
    id: UUID | None = None
    run_id: UUID | None = None
    input: Input | None = None
    tool_call: ToolCall | None = None
    message_id: UUID | None = None
    truncated: bool = False
    echo: Any = None


def text_draft(kind: str, text: str, **facts: Any) -> Draft:
    """An entry of one text, inline or by reference as its size asks."""
    if len(text.encode()) <= settings.ALBEDO["inline_text_bytes"]:
        return Draft(kind, content=[{"kind": "text", "text": text}], **facts)
    return Draft(kind, large={"text": text}, **facts)


def append(session: Session, drafts: Sequence[Draft]) -> list[Entry]:
    """Store `drafts` behind the history of a session whose row this transaction holds."""
    now = timezone.now()
    made = []
    for number, draft in enumerate(drafts, start=session.head_position + 1):
        content = draft.content + [
            reference_part(name, len(text.encode())) for name, text in draft.large.items()
        ]
        entry = Entry.objects.create(
            id=draft.id or new_id(),
            session=session,
            position=number,
            kind=draft.kind,
            run_id=draft.run_id,
            input=draft.input,
            tool_call=draft.tool_call,
            message_id=draft.message_id,
            created_at=now,
            content=content,
            content_bytes=len(dump_json(content).encode()),
            truncated=draft.truncated,
            echo=draft.echo,
        )
        for name, text in draft.large.items():
            write_chunks(entry, name, text)
        made.append(entry)
    session.head_position += len(made)
    session.save(update_fields=["head_position"])
    return made
