"""What every request passes before its view: size, identity, method, query, body, in this order.

Refuses with a problem; nothing that a view does is reached by a request that is not wholly understood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from ninja.operation import Operation, PathView

from sessions_app.access import Credentials, credentials, identify
from sessions_app.api import strict_json
from sessions_app.api.answers import problem_answer
from sessions_app.api.faults import BODY, QUERY, problem_of
from sessions_app.problems import InvalidRequest, Problem
from sessions_app.text import is_storable

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# Django takes coroutine functions as views; its types do not say so.
View = Callable[..., Any]


class CsrfCheck(CsrfViewMiddleware):
    """Django's own check, telling its verdict instead of answering."""

    def _reject(self, request: HttpRequest, reason: str) -> Any:
        return reason


def guarded(path_view: PathView | None, view: View | None, *, public: bool = False) -> View:
    """`view` behind the gate. Without a view, the gate ends in 404."""

    async def gate(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response = await _pass(request, path_view, view, public, args, kwargs)
        except Exception as error:
            response = problem_answer(problem_of(error))
        # A shared cache must hold nothing that a login stood before; refusals are no exception.
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    gate.csrf_exempt = True  # type: ignore[attr-defined] # checked below, where a cookie vouches
    return gate


async def _pass(
    request: HttpRequest, path_view: PathView | None, view: View | None, public: bool, args: Any, kwargs: Any
) -> HttpResponseBase:
    limit = _body_limit(path_view)
    _check_announced_size(request, limit)
    if not public:
        await _authenticate(request)
    if path_view is None or view is None:
        raise Problem(404, "not_found", "There is nothing here that you may see.")
    operation = next((each for each in path_view.operations if request.method in each.methods), None)
    if operation is None:
        return _method_not_allowed(path_view)
    _check_query(request, operation)
    _read_body(request, operation, limit)
    response: HttpResponseBase = await view(request, *args, **kwargs)
    return response


def user_of(request: HttpRequest) -> User:
    """The user whom the gate let in."""
    return cast(User, request.auth)  # type: ignore[attr-defined]


def _body_limit(path_view: PathView | None) -> int:
    large = path_view is not None and any(
        getattr(each.view_func, "large_body", False) for each in path_view.operations
    )
    return int(settings.ALBEDO["input_bytes" if large else "body_bytes"])


def _check_announced_size(request: HttpRequest, limit: int) -> None:
    announced = request.META.get("CONTENT_LENGTH") or "0"
    if not (announced.isascii() and announced.isdigit()):
        raise InvalidRequest("Content-Length is not a number.")
    if len(announced) > 18 or int(announced) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"The body is larger than {limit} bytes.")


async def _authenticate(request: HttpRequest) -> None:
    identity = await identify(_credentials(request))
    if identity is None:
        raise Problem(401, "not_authenticated", "A valid bearer token or login is needed.")
    if identity.by_cookie:
        _check_csrf(request)
    request.auth = identity.user  # type: ignore[attr-defined]


def _credentials(request: HttpRequest) -> Credentials:
    return credentials({name.lower(): value for name, value in request.headers.items()})


def _check_csrf(request: HttpRequest) -> None:
    """A cookie alone is no consent: the page's own token must come in a header."""
    if request.method in SAFE_METHODS:
        return
    check = CsrfCheck(lambda _: HttpResponse())
    check.process_request(request)
    header = settings.CSRF_HEADER_NAME in request.META
    if not header or check.process_view(request, _no_view, (), {}) is not None:
        raise Problem(403, "csrf_failed", "The CSRF token is missing or does not fit.")


def _no_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def _method_not_allowed(path_view: PathView) -> HttpResponse:
    allowed = sorted({method for each in path_view.operations for method in each.methods})
    response = problem_answer(Problem(405, "method_not_allowed", f"Allowed here: {', '.join(allowed)}."))
    response["Allow"] = ", ".join(allowed)
    return response


def _check_query(request: HttpRequest, operation: Operation) -> None:
    _check_query_encoding(request)
    known: set[str] = set()
    for model in operation.models:
        if model.__ninja_param_source__ == QUERY:
            known.update(model.__ninja_flatten_map__)
    for name, values in request.GET.lists():
        pointer = f"/{strict_json.escape(name)}"
        if name not in known:
            raise InvalidRequest("There is no query parameter of this name.", pointer)
        if len(values) > 1 or not is_storable(values[0]):
            raise InvalidRequest("A query parameter is given once, as text without NUL.", pointer)


def _check_query_encoding(request: HttpRequest) -> None:
    """Django would put U+FFFD for what is not UTF-8, and search for that."""
    try:
        unquote_to_bytes(request.META.get("QUERY_STRING", "")).decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise InvalidRequest("The query is not UTF-8.") from None


def _read_body(request: HttpRequest, operation: Operation, limit: int) -> None:
    """Parse the body once, strictly; an absent one is an empty object where all fields are optional."""
    data = request.read(limit + 1)
    if len(data) > limit:
        raise _too_large(limit)
    takes_body = any(model.__ninja_param_source__ == BODY for model in operation.models)
    if data:
        _check_content_type(request)
    value = strict_json.parse(data) if data else {}
    if not takes_body and value != {}:
        raise InvalidRequest("This request takes no body.")
    request.strict_body = value  # type: ignore[attr-defined]
    # Validation asks for a body's bytes to learn whether there is one.
    request._body = data or b"{}"


def _check_content_type(request: HttpRequest) -> None:
    kind, _, parameters = request.META.get("CONTENT_TYPE", "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Problem(415, "unsupported_media_type", "The body must be application/json in UTF-8.")
