"""What goes back to a client: JSON, and one shape for every error."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import orjson
from django.http import HttpResponse

from sessions_app.problems import Problem

PROBLEM_TYPE = "application/problem+json"


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8, whatever numbers or odd text history holds."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Integers beyond 64 bits and lone surrogates are where the fast encoder gives up.
        return json.dumps(value, separators=(",", ":")).encode()


def answer(value: Any, status: int = 200, *, location: str | None = None) -> HttpResponse:
    response = HttpResponse(encode(value), status=status, content_type="application/json")
    if location is not None:
        response["Location"] = location
    return response


def nothing() -> HttpResponse:
    return HttpResponse(status=204)


def problem_answer(problem: Problem) -> HttpResponse:
    body = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        "fields": problem.fields,
    }
    response = HttpResponse(encode(body), status=problem.status, content_type=PROBLEM_TYPE)
    if problem.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="albedo"'
    if problem.retry_after_seconds is not None:
        response["Retry-After"] = str(problem.retry_after_seconds)
    return response
