"""From any exception to a problem: what a client may know of it, and nothing more."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from ninja.errors import ValidationError

from sessions_app.api.answers import problem_answer
from sessions_app.api.strict_json import escape
from sessions_app.problems import InvalidRequest, Problem
from sessions_app.store.trouble import trouble_of

logger = logging.getLogger(__name__)

MAX_FIELDS = 20
BODY, QUERY = "body", "query"


def problem_of(error: Exception) -> Problem:
    """The problem that stands for `error`. What nobody foresaw is logged here and told as 500."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValidationError):
        return _invalid(error.errors)
    if isinstance(error, RequestDataTooBig):
        return Problem(413, "too_large", "The body is too large.")
    if isinstance(error, (SuspiciousOperation, UnreadablePostError)):
        return InvalidRequest("The request cannot be read.")
    trouble = trouble_of(error)
    if trouble is not None:
        logger.warning("storage: %s: %s", trouble.kind.value, error)
        return trouble.problem()
    logger.error("unforeseen %s", type(error).__name__, exc_info=error)
    return Problem(500, "internal_error", "Something went wrong in the server.")


def answer_error(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """django-ninja's handler for every exception of a view."""
    return problem_answer(problem_of(error if isinstance(error, Exception) else error()))


def _invalid(errors: Sequence[dict[str, Any]]) -> InvalidRequest:
    """One problem for all that validation found; its messages name no values."""
    fields = [_pointer(error["loc"]) for error in errors[:MAX_FIELDS]]
    reasons = [f"{field or 'body'}: {_reason(error)}" for field, error in zip(fields, errors, strict=False)]
    return InvalidRequest("; ".join(reasons), *dict.fromkeys(fields))


def _reason(error: dict[str, Any]) -> str:
    """Our own validators' words stand as they are; pydantic's are about types and bounds only."""
    message = str(error.get("msg", "is not valid"))
    return message.removeprefix("Value error, ")[:200]


def _pointer(location: Sequence[str | int]) -> str:
    """The JSON pointer of a pydantic location: the source and the parameter's own name are not in it."""
    source, *path = location
    if source == BODY:
        path = path[1:]
    return "".join(f"/{escape(str(step))}" for step in path)
