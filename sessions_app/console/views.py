"""The console's two pages: the list, and one session beside it. Both are shells; scripts fill them."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.access import session_for
from sessions_app.problems import NotFound


@never_cache
@require_safe
@login_required
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "albedo/console.html")


@never_cache
@require_safe
@login_required
def session_page(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """404 for a session that the user may not see, as for one that does not exist."""
    try:
        session = session_for(cast(User, request.user), session_id)
    except NotFound:
        raise Http404 from None
    return render(request, "albedo/console.html", {"session_id": str(session.id)})
