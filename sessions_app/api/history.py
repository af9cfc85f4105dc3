"""History: entries by position, and the whole of what is too large for an entry."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field, StringConstraints

from sessions_app.access import access_session
from sessions_app.api.answers import answer
from sessions_app.api.gate import user_of
from sessions_app.api.schemas import ContentPage, EntryOut, HistoryPage
from sessions_app.api.shapes import Number, PageToken, bounded, path_id
from sessions_app.contents import content_page
from sessions_app.history import history_page, place_of
from sessions_app.models import Entry
from sessions_app.problems import NotFound
from sessions_app.render import Rendered, render_entry
from sessions_app.store.executor import read

router = Router(tags=["history"])


class HistoryQuery(Schema):
    limit: Number | None = Field(None, ge=1, description="Entries of a page: 100 by default, at most 200.")
    before: Number | None = Field(None, description="Entries just before this position.")
    after: Number | None = Field(None, description="Entries just after this position.")
    next: PageToken | None = Field(None, description="`older` or `newer` of a page.")


class ContentQuery(Schema):
    next: Annotated[str, StringConstraints(max_length=1_000)] | None = None


@router.get("/sessions/{session_id}/history", response=HistoryPage)
async def get_history(request: HttpRequest, session_id: str, query: Query[HistoryQuery]) -> HttpResponse:
    """Entries in ascending position: the newest page, or the one beside a position."""
    session = await access_session(user_of(request), session_id)
    place = place_of(session.id, query.before, query.after, query.next)
    limit = bounded("limit", query.limit, "history_limit", "history_limit_max")
    return answer(await read(history_page, session, place, limit))


@router.get("/sessions/{session_id}/entries/{entry_id}", response=EntryOut)
async def get_entry(request: HttpRequest, session_id: str, entry_id: str) -> HttpResponse:
    """One entry."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_one, session.id, path_id(entry_id)))


def _one(session_id: UUID, entry_id: UUID) -> Rendered:
    rows = Entry.objects.filter(session_id=session_id, id=entry_id)
    found = rows.select_related("tool_call", "input").first()
    if found is None:
        raise NotFound
    return render_entry(found)


@router.get("/sessions/{session_id}/entries/{entry_id}/content/{field}", response=ContentPage)
async def get_content(
    request: HttpRequest, session_id: str, entry_id: str, field: str, query: Query[ContentQuery]
) -> HttpResponse:
    """The exact stored text of a field, in pages of 256 KiB."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(content_page, session.id, path_id(entry_id), field, query.next))
