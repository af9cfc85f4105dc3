"""`GET /metrics` for Prometheus: this process, and what the database has to do. Staff or a metrics token."""

from __future__ import annotations

import asyncio
import hmac

from django.conf import settings
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Gauge,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from sessions_app.access import Credentials, credentials, identify
from sessions_app.api.answers import problem_answer
from sessions_app.instance import draining
from sessions_app.models import Input, Run, Session
from sessions_app.problems import Forbidden, Problem
from sessions_app.store.executor import read
from streaming.delivery import process as delivery

# Each count is a scan of a partial or narrow index: a scrape costs the same however long history is.
GAUGES: dict[str, str] = {
    "albedo_inputs_pending": "Accepted inputs that no run has taken up yet.",
    "albedo_runs_unfinished": "Runs that have not ended.",
    "albedo_leases_live": "Sessions that an actor holds.",
}

# Of this process alone.
HERE: dict[str, str] = {
    "albedo_streams_open": "Event streams and WebSockets that are open.",
    "albedo_sessions_watched": "Sessions that one of them watches.",
    "albedo_tasks": "Tasks of the event loop.",
}


async def metrics(request: HttpRequest) -> HttpResponse:
    """The text format; 401 without credentials, 403 for users who are not staff."""
    if request.method not in ("GET", "HEAD"):
        return problem_answer(Problem(405, "method_not_allowed", "Allowed here: GET."))
    given = credentials({name.lower(): value for name, value in request.headers.items()})
    refusal = None if _is_metrics_token(given) else await _refusal(given)
    if refusal is not None:
        return problem_answer(refusal)
    text = render({**await read(counts), **present()})
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def present() -> dict[str, int]:
    """The present value of each of `HERE`; to be called in the event loop that serves."""
    hub = delivery.current().hub
    return {
        "albedo_streams_open": hub.streams,
        "albedo_sessions_watched": hub.watched,
        "albedo_tasks": len(asyncio.all_tasks()),
    }


def counts() -> dict[str, int]:
    """The present value of each of `GAUGES`."""
    return {
        "albedo_inputs_pending": Input.objects.filter(state=Input.State.PENDING).count(),
        "albedo_runs_unfinished": Run.objects.filter(state=Run.State.RUNNING).count(),
        "albedo_leases_live": Session.objects.filter(lease_until__gt=Now()).count(),
    }


def render(values: dict[str, int]) -> bytes:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    for name, description in {**GAUGES, **HERE}.items():
        Gauge(name, description, registry=registry).set(values[name])
    Gauge("albedo_draining", "1 where this process is about to end.", registry=registry).set(draining.begun)
    return generate_latest(registry)


def _is_metrics_token(given: Credentials) -> bool:
    expected: str = settings.METRICS_TOKEN
    return bool(expected) and hmac.compare_digest((given.bearer or "").encode(), expected.encode())


async def _refusal(given: Credentials) -> Problem | None:
    identity = await identify(given)
    if identity is None:
        return Problem(401, "not_authenticated", "A staff login, its token or the metrics token is needed.")
    if not identity.user.is_staff:
        return Forbidden()
    return None
