"""Headers that every page has."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.test import Client

from albedo_project.security import CONTENT_SECURITY_POLICY, security_headers


def policy() -> dict[str, str]:
    return dict(part.strip().split(" ", 1) for part in CONTENT_SECURITY_POLICY.split(";"))


def test_scripts_come_from_here_alone() -> None:
    assert policy()["script-src"] == "'self'"
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    for directive in ("object-src", "base-uri", "frame-ancestors"):
        assert policy()[directive] == "'none'"
    assert policy()["form-action"] == "'self'"
    assert policy()["connect-src"] == "'self'"
    assert policy()["img-src"] == "'self' data: blob:"


def test_a_static_file_is_served_with_the_headers_and_to_no_other_origin() -> None:
    response = Client().get("/static/admin/css/base.css", headers={"Origin": "https://evil.example"})
    assert response.status_code == HTTPStatus.OK
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in response
    assert b"".join(response).startswith(b"/*")


def test_a_missing_static_file_is_not_found_and_has_the_headers_too() -> None:
    response = Client().get("/static/no/such.js")
    assert response.status_code == HTTPStatus.NOT_FOUND
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


def test_a_stricter_policy_of_a_view_stays() -> None:
    view = security_headers(lambda request: HttpResponse(headers={"Content-Security-Policy": "sandbox"}))
    response = view(HttpRequest())
    assert isinstance(response, HttpResponse)
    assert response["Content-Security-Policy"] == "sandbox"


def test_a_coroutine_view_gets_them_too() -> None:
    async def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    answer = security_headers(view)(HttpRequest())
    assert asyncio.iscoroutine(answer)
    assert asyncio.run(answer)["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
