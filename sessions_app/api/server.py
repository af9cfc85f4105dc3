"""Whether the server lives, and what it can do."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.api.answers import answer
from sessions_app.api.shapes import Id, Shown
from sessions_app.instance import INSTANCE_ID, VERSION, draining

router = Router(tags=["server"])

CAPABILITIES = (
    "stream.page",
    "stream.sse",
    "stream.websocket",
    "inputs.steer",
    "inputs.interrupt",
    "tools.python",
)


class Health(Shown):
    status: Literal["ok"]


class ServerOut(Shown):
    version: str
    capabilities: list[str]
    instance_id: Id
    draining: bool


@router.get("/health", response=Health)
async def health(request: HttpRequest) -> HttpResponse:
    """That the server answers, and nothing else. Needs no login."""
    return answer({"status": "ok"})


setattr(health, "public", True)  # noqa: B010 - read when the gate is put up


@router.get("/server", response=ServerOut)
async def get_server(request: HttpRequest) -> HttpResponse:
    """Version and capabilities of this process, and whether it is about to end."""
    capabilities = [*CAPABILITIES, *(["inspect"] if settings.INSPECT else [])]
    return answer(
        {
            "version": VERSION,
            "capabilities": capabilities,
            "instance_id": INSTANCE_ID,
            "draining": draining.begun,
        }
    )
