"""The whole history of a session as a provider request needs it: full texts, read once a run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from sessions_app.models import ContentChunk, Entry


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """One entry, its text whole. A call's `text` is the arguments as they go back, `{}` where malformed."""

    kind: Literal["user", "assistant", "thinking", "tool_call", "tool_result"]
    text: str
    tool_call_id: str = ""
    name: str = ""
    echo: Any = None
    call_echo: Any = None


_FIELD = {"tool_call": "arguments", "tool_result": "result"}


def load_conversation(session_id: UUID) -> list[HistoryItem]:
    """Every entry but notes, in order of position: two queries, whatever the length."""
    large = _large_texts(session_id)
    entries = Entry.objects.filter(session_id=session_id).exclude(kind=Entry.Kind.NOTE)
    ordered = entries.select_related("tool_call").order_by("position")
    return [_item(entry, large.get((entry.id, _FIELD.get(entry.kind, "text")))) for entry in ordered]


def _large_texts(session_id: UUID) -> dict[tuple[UUID, str], str]:
    chunks = ContentChunk.objects.filter(entry__session_id=session_id).exclude(field="output")
    pieces: dict[tuple[UUID, str], list[str]] = defaultdict(list)
    for entry_id, name, text in chunks.order_by("entry_id", "field", "offset_bytes").values_list(
        "entry_id", "field", "text"
    ):
        pieces[entry_id, name].append(text)
    return {key: "".join(texts) for key, texts in pieces.items()}


def _item(entry: Entry, large: str | None) -> HistoryItem:
    call = entry.tool_call
    if call is None:
        text = large if large is not None else "".join(part.get("text", "") for part in entry.content)
        return HistoryItem(entry.kind, text, echo=entry.echo)  # type: ignore[arg-type]
    if entry.kind == Entry.Kind.TOOL_CALL:
        arguments = (large if large is not None else call.arguments_text) if call.arguments_valid else "{}"
        return HistoryItem(
            "tool_call", arguments, call.tool_call_id, call.name, echo=entry.echo, call_echo=call.echo
        )
    return HistoryItem("tool_result", large if large is not None else call.result_text, call.tool_call_id)


def used_tool_call_ids(session_id: UUID) -> set[str]:
    """Every `tool_call_id` of the session, so that a new one can be kept distinct."""
    from_calls = Entry.objects.filter(session_id=session_id, kind=Entry.Kind.TOOL_CALL)
    return set(from_calls.values_list("tool_call__tool_call_id", flat=True))
