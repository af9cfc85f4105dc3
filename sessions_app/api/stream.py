"""The replay page: what a client without a socket reads of the stream."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from sessions_app import meters
from sessions_app.access import access_session
from sessions_app.api.answers import answer
from sessions_app.api.gate import user_of
from sessions_app.api.schemas import StreamPage
from sessions_app.api.sessions import TailQuery
from sessions_app.cursors import parse_cursor
from sessions_app.snapshots import attach_page

router = Router(tags=["stream"])


class StreamQuery(TailQuery):
    after_generation: str | None = Field(None, description="Of a cursor; both halves or none.")
    after_seq: str | None = Field(None, description="Digits.")


@router.get("/sessions/{session_id}/stream", response=StreamPage)
async def get_stream_page(request: HttpRequest, session_id: str, query: Query[StreamQuery]) -> HttpResponse:
    """The events after a cursor, or a reset with a snapshot. Starts the session's actor."""
    session = await access_session(user_of(request), session_id)
    cursor = parse_cursor(query.after_generation, query.after_seq)
    page = await attach_page(session.id, cursor, tail=query.tail)
    if page["attach"]["reason"] is not None:
        meters.RESETS.labels(page["attach"]["reason"]).inc()
    return answer(page)
