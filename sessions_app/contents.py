"""The exact stored text of one field of an entry, in pages of bytes that end on character boundaries.

Large fields are read from their chunks by offset; small ones from the row that holds them.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings

from sessions_app.cursors import make_token, read_token
from sessions_app.models import ContentChunk, Entry
from sessions_app.models.fields import dump_json
from sessions_app.problems import NotFound
from sessions_app.render import Rendered

Piece = tuple[int, str, int]  # offset in bytes, text, length in bytes


def content_page(session_id: UUID, entry_id: UUID, field: str, token: str | None) -> Rendered:
    """One page of a field, with the token of the following one. Raises NotFound, InvalidRequest."""
    entry = Entry.objects.filter(session_id=session_id, id=entry_id).select_related("tool_call").first()
    if entry is None:
        raise NotFound
    query = ["content", session_id, entry_id, field]
    offset = 0 if token is None else read_token(query, token)[0]
    total = _referenced_bytes(entry, field)
    if total is None:
        pieces, total = _inline_pieces(entry, field, offset)
    else:
        pieces = _stored_pieces(entry_id, field, offset)
    end = pieces[-1][0] + pieces[-1][2] if pieces else total
    return {
        "parts": [_part(field, piece, total) for piece in pieces],
        "next": make_token(query, [end]) if end < total else None,
    }


def _part(field: str, piece: Piece, total: int) -> Rendered:
    """`complete` is true on the piece that ends the field."""
    offset, text, length = piece
    return {
        "field": field,
        "encoding": "utf8",
        "offset_bytes": offset,
        "text": text,
        "complete": offset + length == total,
    }


def _referenced_bytes(entry: Entry, field: str) -> int | None:
    """The size of a field that is kept in chunks; None where it is not."""
    for part in entry.content:
        if part["kind"] == "reference" and part["reference"]["field"] == field:
            return int(part["reference"]["bytes"])
    return None


def _stored_pieces(entry_id: UUID, field: str, offset: int) -> list[Piece]:
    page_bytes = int(settings.ALBEDO["content_page_bytes"])
    rows = ContentChunk.objects.filter(entry_id=entry_id, field=field, offset_bytes__gte=offset)
    count = max(1, page_bytes // int(settings.ALBEDO["content_chunk_bytes"]))
    pieces: list[Piece] = []
    room = page_bytes
    for piece in rows.order_by("offset_bytes").values_list("offset_bytes", "text", "length_bytes")[:count]:
        room -= piece[2]
        if pieces and room < 0:
            break
        pieces.append(piece)
    return pieces


def _inline_pieces(entry: Entry, field: str, offset: int) -> tuple[list[Piece], int]:
    """The page of an inline field that begins at `offset`, and the field's size in bytes."""
    data = _inline_text(entry, field).encode()
    end = min(offset + int(settings.ALBEDO["content_page_bytes"]), len(data))
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return [(offset, data[offset:end].decode(), end - offset)], len(data)


def _inline_text(entry: Entry, field: str) -> str:
    """Raises NotFound for a field that the entry does not have."""
    parts: list[dict[str, Any]] = [part for part in entry.content if _field_of(part) == field]
    if not parts:
        raise NotFound
    if field == "arguments" and entry.tool_call is not None:
        return entry.tool_call.arguments_text
    return "".join(_text_of(part) for part in parts)


def _field_of(part: dict[str, Any]) -> str | None:
    return "text" if part["kind"] == "text" else part.get("field")


def _text_of(part: dict[str, Any]) -> str:
    value = part["text"] if part["kind"] == "text" else part["value"]
    return value if isinstance(value, str) else dump_json(value)
