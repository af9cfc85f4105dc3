"""Errors that never reach a view: a foreign Host, an unreadable request, a path outside of every pattern.

Under /api/ they are problems like all others; elsewhere Django's plain pages stand.
"""

from __future__ import annotations

import logging
import sys

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views import defaults

from sessions_app.api.answers import problem_answer
from sessions_app.api.faults import problem_of
from sessions_app.problems import InvalidRequest, NotFound, Problem
from sessions_app.store.trouble import Trouble, trouble_of

logger = logging.getLogger(__name__)


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def _told(problem: Problem) -> HttpResponse:
    response = problem_answer(problem)
    response["Cache-Control"] = "no-store"
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    known = isinstance(exception, (Problem, SuspiciousOperation))
    return _told(problem_of(exception) if known else InvalidRequest("The request cannot be read."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return _told(NotFound()) if _is_api(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """503 where the storage is at fault, whatever of a page or its session met it; else 500."""
    error = sys.exc_info()[1]
    trouble = trouble_of(error) if error is not None else None
    if trouble is not None:
        logger.warning("storage: %s: %s", trouble.kind.value, error)
        return _storage_trouble(request, trouble)
    problem = Problem(500, "internal_error", "Something went wrong in the server.")
    return _told(problem) if _is_api(request) else defaults.server_error(request)


def _storage_trouble(request: HttpRequest, trouble: Trouble) -> HttpResponse:
    if _is_api(request):
        response = _told(trouble.problem())
    else:
        # Without the request: what it knows of its user stands in the database.
        page = render_to_string("albedo/storage_trouble.html", {"detail": trouble.detail})
        headers = {"Retry-After": str(trouble.retry_after_seconds), "Cache-Control": "no-store"}
        response = HttpResponse(page, status=503, headers=headers)
    # Django would tell each of them as an error of ours, with its traceback.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
