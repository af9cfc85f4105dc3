"""Where text goes by its size: small in its row, large in chunks that are read back by key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings

from sessions_app.models import ContentChunk, Entry

# A few pieces of 32 KiB a statement keep both the statement and the memory of a 16 MiB value small.
_ROWS_A_STATEMENT = 16


def pieces(text: str, limit_bytes: int) -> Iterator[tuple[int, bytes]]:
    """(offset, UTF-8) pieces of at most `limit_bytes` bytes, each ending on a character boundary."""
    data = text.encode()
    start = 0
    while start < len(data):
        end = min(start + limit_bytes, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield start, data[start:end]
        start = end


def write_chunks(entry: Entry, field: str, text: str) -> None:
    """Store all of `text` as the entry's `field`."""
    rows = (
        ContentChunk(
            entry=entry, field=field, offset_bytes=offset, length_bytes=len(data), text=data.decode()
        )
        for offset, data in pieces(text, int(settings.ALBEDO["content_chunk_bytes"]))
    )
    ContentChunk.objects.bulk_create(rows, batch_size=_ROWS_A_STATEMENT)


def read_text(entry_id: Any, field: str) -> str:
    """The whole stored text of a field kept in chunks."""
    chunks = ContentChunk.objects.filter(entry_id=entry_id, field=field).order_by("offset_bytes")
    return "".join(chunks.values_list("text", flat=True))


def reference_part(field: str, size_bytes: int) -> dict[str, Any]:
    return {"kind": "reference", "reference": {"field": field, "bytes": size_bytes}}
