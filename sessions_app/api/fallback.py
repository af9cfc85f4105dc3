"""Errors that never reach a view: a foreign Host, an unreadable request, a path outside of every pattern.

Under /api/ they are problems like all others; elsewhere Django's plain pages stand.
"""

from __future__ import annotations

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views import defaults

from sessions_app.api.answers import problem_answer
from sessions_app.api.faults import problem_of
from sessions_app.problems import InvalidRequest, NotFound, Problem


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
    problem = Problem(500, "internal_error", "Something went wrong in the server.")
    return _told(problem) if _is_api(request) else defaults.server_error(request)
