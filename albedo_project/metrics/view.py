"""`GET /metrics`, for staff or with a metrics token."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    disable_created_metrics,
    generate_latest,
)

from albedo_project.metrics import database, here
from sessions_app.access import Credentials, credentials, identify
from sessions_app.api.answers import problem_answer
from sessions_app.api.faults import problem_of
from sessions_app.problems import Forbidden, Problem

# When each series began would be as many series again.
disable_created_metrics()  # type: ignore[no-untyped-call]


async def metrics(request: HttpRequest) -> HttpResponse:
    """The text format; 401 without credentials, 403 for users who are not staff."""
    if request.method not in ("GET", "HEAD"):
        return problem_answer(Problem(405, "method_not_allowed", "Allowed here: GET."))
    given = credentials({name.lower(): value for name, value in request.headers.items()})
    refusal = None if _is_metrics_token(given) else await _refusal(given)
    if refusal is not None:
        return problem_answer(refusal)
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(await exposition(), content_type=CONTENT_TYPE_LATEST, headers=headers)


async def exposition() -> bytes:
    """What this process counts, and what stands in the database. To be asked on the loop that serves."""
    present = CollectorRegistry()
    here.gathered(present)
    await database.gathered(present)
    return generate_latest(REGISTRY) + generate_latest(present)


def _is_metrics_token(given: Credentials) -> bool:
    expected: str = settings.METRICS_TOKEN
    return bool(expected) and hmac.compare_digest((given.bearer or "").encode(), expected.encode())


async def _refusal(given: Credentials) -> Problem | None:
    try:
        identity = await identify(given)
    except Exception as error:
        return problem_of(error)
    if identity is None:
        return Problem(401, "not_authenticated", "A staff login, its token or the metrics token is needed.")
    if not identity.user.is_staff:
        return Forbidden()
    return None
