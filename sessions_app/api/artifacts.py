"""What code displayed, as its own bytes: pictures to be shown, the rest to be kept, nothing to be run."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.access import access_session
from sessions_app.api.gate import user_of
from sessions_app.api.shapes import path_id
from sessions_app.models import Artifact
from sessions_app.problems import NotFound
from sessions_app.store.executor import read

router = Router(tags=["artifacts"])

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# What a page may fetch and show in a frame of its own; by itself it is a download.
DOCUMENTS = frozenset({"text/html", "image/svg+xml"})
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


@router.get("/sessions/{session_id}/artifacts/{artifact_id}", response={200: None})
async def get_artifact(request: HttpRequest, session_id: str, artifact_id: str) -> HttpResponse:
    """The artifact's bytes, under headers that let no script of it run."""
    session = await access_session(user_of(request), session_id)
    return _answer(await read(_one, session.id, path_id(artifact_id)))


def _one(session_id: UUID, artifact_id: UUID) -> Artifact:
    found = Artifact.objects.filter(session_id=session_id, id=artifact_id).first()
    if found is None:
        raise NotFound
    return found


def _answer(artifact: Artifact) -> HttpResponse:
    shown = artifact.mime_type in PICTURES
    known = shown or artifact.mime_type in DOCUMENTS
    response = HttpResponse(bytes(artifact.data))
    response["Content-Type"] = _type(artifact.mime_type) if known else "application/octet-stream"
    response["Content-Disposition"] = "inline" if shown else "attachment"
    response["Content-Security-Policy"] = POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _type(mime_type: str) -> str:
    return mime_type if mime_type in PICTURES else f"{mime_type}; charset=utf-8"
