"""Whether the server can do its work, and what that is."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.api.answers import answer
from sessions_app.api.shapes import Id, Shown
from sessions_app.health import check
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


# What a balancer should let pass before it asks again; draining ends by a restart.
RETRY_AFTER_SECONDS = 5


class Health(Shown):
    status: Literal["ok"]


class Fault(Shown):
    status: Literal["degraded", "unavailable", "draining"]
    faults: list[Literal["database", "hosts", "layer", "storage"]]


class ServerOut(Shown):
    version: str
    capabilities: list[str]
    instance_id: Id
    draining: bool


@router.get("/health", response={200: Health | Fault, 503: Fault})
async def health(request: HttpRequest) -> HttpResponse:
    """Whether clients should be sent here: 200 where they should, 503 where not. Needs no login.

    `degraded` is 200: inputs are accepted, and what is at fault is named.
    """
    found = await check.health()
    if found.status == "ok":
        return answer({"status": "ok"})
    response = answer({"status": found.status, "faults": list(found.faults)}, 200 if found.serves else 503)
    if not found.serves:
        # Django would log each such answer as an error; what is at fault is in the log once already.
        setattr(response, "_has_been_logged", True)  # noqa: B010 - no field of theirs
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


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
