"""The newest part of a text that grows: `{"offset_scalars", "text"}`, bounded in bytes of UTF-8.

Pure. Extending is idempotent, and where a window begins depends on the whole text alone, never on the
pieces that it came in: so a replayed window equals the live one.
"""

from __future__ import annotations

from typing import Any

Tail = dict[str, Any]

EMPTY: Tail = {"offset_scalars": 0, "text": ""}


def extend(tail: Tail, offset_scalars: int, text: str, max_bytes: int) -> Tail:
    """`tail` with `text`, which begins at `offset_scalars` of the whole.

    What lies before the known end is passed over; a text that begins behind it starts the window anew.
    """
    end = tail["offset_scalars"] + len(tail["text"])
    if offset_scalars > end:
        return _bounded(offset_scalars, text, max_bytes)
    fresh = text[end - offset_scalars :]
    if not fresh:
        return tail
    return _bounded(tail["offset_scalars"], tail["text"] + fresh, max_bytes)


def _bounded(offset_scalars: int, text: str, max_bytes: int) -> Tail:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return {"offset_scalars": offset_scalars, "text": text}
    # Cutting bytes can split only the first character: its remains are what "ignore" leaves out.
    kept = raw[len(raw) - max_bytes :].decode("utf-8", "ignore")
    return {"offset_scalars": offset_scalars + len(text) - len(kept), "text": kept}
