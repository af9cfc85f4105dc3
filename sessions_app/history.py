"""Pages of what lasts: entries by position, large contents by byte offset. Always by key, never by OFFSET.

A page costs the same wherever it lies, and its number of queries does not depend on its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.conf import settings

from sessions_app.cursors import make_token, read_token
from sessions_app.models import Entry, Session
from sessions_app.problems import InvalidRequest
from sessions_app.render import Rendered, render_entry

Side = Literal["before", "after"]
MAX_POSITION = 10**18


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page lies: the entries next to `position`, on one side of it, itself not among them."""

    side: Side
    position: int


NEWEST = Place("before", MAX_POSITION)


def place_of(session_id: UUID, before: int | None, after: int | None, token: str | None) -> Place:
    """The place that a request names, the newest page by default. Raises InvalidRequest for two at once."""
    given = [
        name for name, value in (("before", before), ("after", after), ("next", token)) if value is not None
    ]
    if len(given) > 1:
        names = [f"/{name}" for name in given]
        raise InvalidRequest("Only one of before, after and next can be given.", *names)
    if token is not None:
        side, position = read_token(_query(session_id), token)
        return Place(side, position)
    if after is not None:
        return Place("after", after)
    return NEWEST if before is None else Place("before", before)


def history_page(session: Session, place: Place, limit: int, through: int | None = None) -> Rendered:
    """A page in ascending order: at most `limit` entries and a page's bytes of content, at least one entry.

    `through` is the last position that counts (a capture's high-water mark), else the session's newest.
    """
    high_water = session.head_position if through is None else through
    positions = _positions(session.id, place, limit, high_water)
    entries = _entries(session.id, positions)
    first, last = _edges(positions, place, high_water)
    return {
        "items": [render_entry(entry) for entry in entries],
        "older": _token(session.id, Place("before", first)) if first > 1 else None,
        "newer": _token(session.id, Place("after", last)) if last < high_water else None,
        "high_water": high_water,
    }


def _positions(session_id: UUID, place: Place, limit: int, high_water: int) -> list[int]:
    """The positions of the page, ascending: nearest to the place first until either bound is reached."""
    if limit == 0:
        return []
    rows = Entry.objects.filter(session_id=session_id, position__lte=high_water)
    if place.side == "before":
        rows = rows.filter(position__lt=place.position).order_by("-position")
    else:
        rows = rows.filter(position__gt=place.position).order_by("position")
    taken: list[int] = []
    room = settings.ALBEDO["history_page_bytes"]
    for position, size in rows.values_list("position", "content_bytes")[:limit]:
        room -= size
        if taken and room < 0:
            break
        taken.append(position)
    return sorted(taken)


def _entries(session_id: UUID, positions: Sequence[int]) -> list[Entry]:
    if not positions:
        return []
    span = Entry.objects.filter(session_id=session_id, position__range=(positions[0], positions[-1]))
    return list(span.select_related("tool_call", "input").order_by("position"))


def _edges(positions: Sequence[int], place: Place, high_water: int) -> tuple[int, int]:
    """The first and last position of the page; of an empty one, the gap that it lies in."""
    if positions:
        return positions[0], positions[-1]
    edge = place.position - 1 if place.side == "before" else place.position
    edge = max(0, min(edge, high_water))
    return edge + 1, edge


def _query(session_id: UUID) -> list[Any]:
    return ["history", session_id]


def _token(session_id: UUID, place: Place) -> str:
    return make_token(_query(session_id), [place.side, place.position])
