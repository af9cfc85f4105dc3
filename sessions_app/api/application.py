"""The API as one object: its routers, its document, and the gate before every path under /api/."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, path, re_path
from ninja import NinjaAPI, Swagger
from ninja.openapi.schema import OpenAPISchema
from ninja.openapi.views import openapi_json, openapi_view
from ninja.operation import PathView
from ninja.parser import Parser
from ninja.utils import normalize_path, replace_path_param_notation

from sessions_app.api import (
    artifacts,
    attempts,
    history,
    inputs,
    inspection,
    providers,
    runs,
    server,
    sessions,
    stream,
    tokens,
)
from sessions_app.api.document import complete
from sessions_app.api.faults import answer_error
from sessions_app.api.gate import guarded
from sessions_app.instance import VERSION

# The page runs the scripts that come with it and styles itself; it talks to this server alone.
DOCS_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)


class StrictParser(Parser):
    """Hands over the body that the gate has parsed."""

    def parse_body(self, request: HttpRequest) -> Any:
        return request.strict_body  # type: ignore[attr-defined]


class Api(NinjaAPI):
    """django-ninja with the gate around each path, and answers for the paths that are none."""

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        found: list[URLResolver | URLPattern] = list(self._document_urls())
        for bound in self._get_bound_routers():
            for route, path_view in bound.path_operations.items():
                found.append(self._pattern(bound.prefix, route, path_view))
        return [*found, path("", guarded(None, None), name="api-root"), re_path("", guarded(None, None))]

    def set_default_exception_handlers(self) -> None:
        """One handler for all: the library's own have other shapes."""
        self.add_exception_handler(Exception, answer_error)

    def _pattern(self, prefix: str, route: str, path_view: PathView) -> URLPattern:
        parts = [replace_path_param_notation(each) for each in (prefix, route)]
        public = all(getattr(each.view_func, "public", False) for each in path_view.operations)
        view = guarded(path_view, path_view.get_view(), public=public)
        name = self.get_operation_url_name(path_view.operations[0], None)  # type: ignore[arg-type]
        return path(normalize_path("/".join(filter(None, parts))).lstrip("/"), view, name=name)

    def _document_urls(self) -> list[URLPattern]:
        shown = _document_view(partial(openapi_json, api=self))
        page = _document_view(partial(openapi_view, api=self), DOCS_POLICY)
        return [path("openapi.json", shown, name="openapi-json"), path("docs", page, name="openapi-view")]

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        return complete(super().get_openapi_schema(**options))

    def get_openapi_operation_id(self, operation: Any) -> str:
        return cast(str, operation.view_func.__name__)


def _document_view(view: Callable[..., HttpResponseBase], policy: str | None = None) -> Any:
    """A page about the API, behind the gate like all else."""

    async def get(request: HttpRequest) -> HttpResponseBase:
        response = view(request)
        if policy is not None:
            response["Content-Security-Policy"] = policy
        return response

    reading = PathView()
    reading.add_operation("", ["GET"], get)
    return guarded(reading, get)


def _make() -> Api:
    made = Api(
        title="Albedo",
        version=VERSION,
        description="Durable sessions of a coding agent, their live streams and their history.",
        docs=Swagger(),
        parser=StrictParser(),
        urls_namespace="api",
    )
    for module in (
        sessions,
        inputs,
        runs,
        attempts,
        history,
        artifacts,
        stream,
        providers,
        tokens,
        server,
        inspection,
    ):
        made.add_router("", module.router)
    return made


api = _make()
