"""Rows as an actor would have left them, for what is only read here."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.ids import new_id
from sessions_app.models import Entry, Run, Session, ToolCall
from sessions_app.store.entries import Draft, append, text_draft


def add_texts(session_id: str, texts: list[str]) -> list[Entry]:
    with transaction.atomic():
        session = Session.objects.get(id=session_id)
        return append(session, [text_draft("assistant", text) for text in texts])


def add_run(session_id: str, **fields: Any) -> Run:
    values = {"generation": 1, "started_at": timezone.now(), **fields}
    return Run.objects.create(session_id=UUID(session_id), **values)


def add_call(session_id: str, run: Run, arguments: str, **fields: Any) -> ToolCall:
    identity = str(new_id())
    values = {
        "generation": 1,
        "step": 1,
        "attempt": 1,
        "output_index": 0,
        "call_id": identity,
        "tool_call_id": identity,
        "name": "python",
        "arguments_text": arguments,
        "arguments_bytes": len(arguments.encode()),
        "created_at": timezone.now(),
        **fields,
    }
    return ToolCall.objects.create(session_id=UUID(session_id), run=run, **values)


def add_call_entry(call: ToolCall, large: dict[str, str], content: list[Any] | None = None) -> Entry:
    with transaction.atomic():
        session = Session.objects.get(id=call.session_id)
        draft = Draft("tool_call", content=content or [], large=large, tool_call=call, run_id=call.run_id)
        return append(session, [draft])[0]
