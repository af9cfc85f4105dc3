"""Ids of tool calls: ours where the wire gives none or one twice, short ones where the wire wants them short.

Pure, so that a call and its result, sent in other requests, always get the same id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from streaming.providers.types import AssembledCall

_PLACEHOLDERS = frozenset({"", "null", "none", "undefined", "nil", "nan"})
_DIGEST_CHARS = 16


def clean_native_id(value: object) -> str:
    """The id that a wire value names, "" for the many spellings of none. Numbers are ids for some servers."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 1 << 64 else ""
    if not isinstance(value, str) or value.strip().lower() in _PLACEHOLDERS:
        return ""
    return value


def assign_tool_call_ids(calls: Iterable[AssembledCall], used: set[str]) -> list[str]:
    """One distinct id a call, in order: the native one where it is usable and free, else a made one.

    `used` holds the ids already taken in the conversation; the new ones are added to it. Deterministic:
    the same calls over the same `used` get the same ids.
    """
    assigned = []
    for call in calls:
        native = clean_native_id(call.native_id)
        tool_call_id = native if native and native not in used else _fresh(native, call, used)
        used.add(tool_call_id)
        assigned.append(tool_call_id)
    return assigned


def wire_call_id(tool_call_id: str, max_len: int = 64) -> str:
    """`tool_call_id` as it is sent: itself where it fits, else its head and a hash of all of it."""
    if len(tool_call_id) <= max_len:
        return tool_call_id
    digest = _digest(tool_call_id, min(_DIGEST_CHARS, max_len))
    head = tool_call_id[: max(0, max_len - len(digest) - 1)]
    return f"{head}_{digest}" if head else digest


def _fresh(native: str, call: AssembledCall, used: set[str]) -> str:
    serial = len(used)
    while True:
        tool_call_id = f"call_{_digest(f'{native}:{call.slot}:{serial}', 24)}"
        if tool_call_id not in used:
            return tool_call_id
        serial += 1


def _digest(text: str, chars: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:chars]
