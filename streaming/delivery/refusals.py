"""Streams that do not begin: the same problems as the API's, sent over bare ASGI before anything else.

A socket is refused before its upgrade, so that nobody unauthenticated ever holds one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from sessions_app.problems import Problem
from streaming.delivery.codes import Close
from streaming.feed.events import encode

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
SendAsgi = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, SendAsgi], Awaitable[None]]

# The extension of ASGI that lets a handshake be answered with an HTTP response; without it a refusal is 403.
DENIAL = "websocket.http.response"
TOO_MANY = "too_many_streams"


def not_authenticated() -> Problem:
    return Problem(401, "not_authenticated", "Send a bearer token, or log in.")


def foreign_origin() -> Problem:
    return Problem(403, "origin_refused", "A login counts only on pages of this very origin.")


def wrong_host() -> Problem:
    return Problem(400, "invalid_host", "This server does not answer under that name.")


def too_many() -> Problem:
    return Problem(429, TOO_MANY, "Close a stream first.", retry_after_seconds=5)


def full() -> Problem:
    """No fault of the client's: another process may have room."""
    return Problem(503, TOO_MANY, "This process has no room for a stream.", retry_after_seconds=5)


def restarting() -> Problem:
    return Problem(503, "restarting", "This process is about to end.", retry_after_seconds=1)


def close_code(problem: Problem) -> Close:
    """The same refusal, for a socket that is open already."""
    return Close.TOO_MANY if problem.code == TOO_MANY else Close.RESTARTING


async def refuse_http(problem: Problem, send: SendAsgi) -> None:
    """The whole response: `application/problem+json`."""
    await _answer(problem, send, "http.response")


async def refuse_socket(scope: Scope, problem: Problem, send: SendAsgi) -> None:
    """Instead of accepting: the problem over HTTP where the server can, else its 403."""
    if DENIAL in (scope.get("extensions") or {}):
        await _answer(problem, send, DENIAL)
    else:
        await send({"type": "websocket.close"})


async def _answer(problem: Problem, send: SendAsgi, prefix: str) -> None:
    body = problem_body(problem)
    await send({"type": f"{prefix}.start", "status": problem.status, "headers": _headers(problem, len(body))})
    await send({"type": f"{prefix}.body", "body": body})


def problem_body(problem: Problem) -> bytes:
    shown: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        "fields": problem.fields,
    }
    return encode(shown).encode()


def _headers(problem: Problem, body_bytes: int) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(body_bytes).encode()),
        (b"cache-control", b"no-store"),
    ]
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Bearer realm="albedo"'))
    if problem.retry_after_seconds is not None:
        headers.append((b"retry-after", str(problem.retry_after_seconds).encode()))
    return headers
