"""Identifiers: UUIDv7 for everything the server names, and the check for those a client brings."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A fresh UUIDv7: sorts by time of making."""
    return uuid7()


def first_id_at(moment: datetime) -> UUID:
    """No id that was made from then on is smaller."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)


def parse_id(text: str) -> UUID | None:
    """The UUID that `text` spells in its canonical form, else None (braces, urn: and bare hex are not it)."""
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value if str(value) == text.lower() else None


def is_uuid7(value: UUID) -> bool:
    return value.version == 7
