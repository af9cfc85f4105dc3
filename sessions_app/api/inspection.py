"""A look inside a running actor, for tests and measuring: only with ALBEDO_INSPECT=1, only for staff."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import ConfigDict

from sessions_app.access import access_session
from sessions_app.api.answers import answer, nothing
from sessions_app.api.gate import user_of
from sessions_app.api.shapes import Shown
from sessions_app.live import live
from sessions_app.models import Session
from sessions_app.problems import NotFound

router = Router(tags=["inspection"])


class Inspection(Shown):
    """Null where no actor runs; `projection_size` counts the containers too."""

    model_config = ConfigDict(extra="allow")

    watchers: int | None
    projection_bytes: int | None
    projection_size: int | None
    window_events: int | None
    window_bytes: int | None
    generation: str | None
    host: str | None


async def _inspected(request: HttpRequest, session_id: str) -> Session:
    user = user_of(request)
    if not (settings.INSPECT and user.is_staff):
        raise NotFound
    return await access_session(user, session_id)


@router.get("/inspect/sessions/{session_id}", response=Inspection)
async def inspect_session(request: HttpRequest, session_id: str) -> HttpResponse:
    """Counts and sizes of the session's actor."""
    session = await _inspected(request, session_id)
    nobody = dict.fromkeys(Inspection.model_fields)
    return answer(await live().inspect(session.id) or nobody)


@router.post("/inspect/sessions/{session_id}/restart", response={204: None})
async def restart_actor(request: HttpRequest, session_id: str) -> HttpResponse:
    """End the session's actor as a crash would."""
    session = await _inspected(request, session_id)
    await live().stop(session.id, "restart")
    return nothing()
