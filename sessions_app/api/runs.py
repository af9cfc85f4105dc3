"""Runs: what work there was, how it ended, and the proof of a stop."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.access import access_session
from sessions_app.api.answers import answer
from sessions_app.api.gate import user_of
from sessions_app.api.schemas import RunList, RunOut
from sessions_app.api.shapes import PageQuery, page, path_id
from sessions_app.models import Run
from sessions_app.problems import NotFound
from sessions_app.render import Rendered, render_run
from sessions_app.store.executor import read

router = Router(tags=["runs"])


@router.get("/sessions/{session_id}/runs", response=RunList)
async def list_runs(request: HttpRequest, session_id: str, query: Query[PageQuery]) -> HttpResponse:
    """Runs, oldest first."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_list, session.id, query))


def _list(session_id: UUID, query: PageQuery) -> Rendered:
    name = ["runs", session_id]
    position = query.position(name)
    limit = query.count()
    rows = Run.objects.filter(session_id=session_id).prefetch_related("inputs").order_by("id")
    if position is not None:
        rows = rows.filter(id__gt=position[0])
    shown, token = page(list(rows[: limit + 1]), limit, name, lambda row: [row.id])
    return {"items": [render_run(row) for row in shown], "next": token}


@router.get("/sessions/{session_id}/runs/{run_id}", response=RunOut)
async def get_run(request: HttpRequest, session_id: str, run_id: str) -> HttpResponse:
    """One run; `interrupt` is null where nobody asked it to stop."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_one, session.id, path_id(run_id)))


def _one(session_id: UUID, run_id: UUID) -> Rendered:
    found = Run.objects.filter(session_id=session_id, id=run_id).prefetch_related("inputs").first()
    if found is None:
        raise NotFound
    return render_run(found)
