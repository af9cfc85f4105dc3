"""Pages and drawings that code displayed, for a frame of the console: no script, no network, no origin.

The API gives the same bytes as a download; what can be shown in place is only what comes from here.
"""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from sessions_app.access import session_for
from sessions_app.models import Artifact
from sessions_app.problems import NotFound

FRAMED = frozenset({"text/html", "image/svg+xml"})
# `sandbox` holds also where somebody opens the address by itself.
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


@never_cache
@require_safe
@login_required
@xframe_options_sameorigin
def frame(request: HttpRequest, session_id: UUID, artifact_id: UUID) -> HttpResponse:
    try:
        session = session_for(cast(User, request.user), session_id)
    except NotFound:
        raise Http404 from None
    found = Artifact.objects.filter(session=session, id=artifact_id, mime_type__in=FRAMED).first()
    if found is None:
        raise Http404
    response = HttpResponse(bytes(found.data), content_type=f"{found.mime_type}; charset=utf-8")
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
