"""Diagnostics of attempts at providers: names, counts and times, never what was said."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from sessions_app.access import access_session
from sessions_app.api.answers import answer
from sessions_app.api.attempt_shapes import AttemptList, AttemptOut
from sessions_app.api.gate import user_of
from sessions_app.api.shapes import PageQuery, page, path_id
from sessions_app.models import ProviderAttempt
from sessions_app.problems import NotFound
from sessions_app.render import Rendered, render_time
from sessions_app.store.executor import read

router = Router(tags=["attempts"])


class AttemptQuery(PageQuery):
    run_id: str | None = Field(None, max_length=100, description="Only the attempts of this run.")


@router.get("/sessions/{session_id}/attempts", response=AttemptList, by_alias=True)
async def list_attempts(request: HttpRequest, session_id: str, query: Query[AttemptQuery]) -> HttpResponse:
    """Attempts, oldest first."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_list, session.id, query))


def _list(session_id: UUID, query: AttemptQuery) -> Rendered:
    name = ["attempts", session_id, query.run_id]
    position = query.position(name)
    limit = query.count()
    rows = ProviderAttempt.objects.filter(session_id=session_id).order_by("id")
    if query.run_id is not None:
        rows = rows.filter(run_id=path_id(query.run_id))
    if position is not None:
        rows = rows.filter(id__gt=position[0])
    shown, token = page(list(rows[: limit + 1]), limit, name, lambda row: [row.id])
    return {"items": [_shown(row) for row in shown], "next": token}


@router.get("/sessions/{session_id}/attempts/{attempt_id}", response=AttemptOut, by_alias=True)
async def get_attempt(request: HttpRequest, session_id: str, attempt_id: str) -> HttpResponse:
    """One attempt."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_one, session.id, path_id(attempt_id)))


def _one(session_id: UUID, attempt_id: UUID) -> Rendered:
    found = ProviderAttempt.objects.filter(session_id=session_id, id=attempt_id).first()
    if found is None:
        raise NotFound
    return _shown(found)


def _shown(row: ProviderAttempt) -> Rendered:
    """The record, with what its row knows for certain."""
    return {
        **row.record,
        "id": str(row.id),
        "run_id": str(row.run_id),
        "step": row.step,
        "attempt": row.attempt,
        "provider": row.provider,
        "model": row.model,
        "protocol": row.protocol,
        "started_at": render_time(row.started_at),
        "ended_at": render_time(row.ended_at),
        "outcome": row.outcome or None,
        "phase": row.phase or None,
    }
