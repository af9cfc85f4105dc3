"""Which address has which stream, for sockets and for `Accept: text/event-stream`. All else is not ours."""

from __future__ import annotations

import re
from collections.abc import Awaitable

from sessions_app.problems import NotFound, Problem
from streaming.delivery.guard import check_host, headers_of
from streaming.delivery.refusals import Receive, Scope, SendAsgi, refuse_http, refuse_socket
from streaming.delivery.sessions_socket import list_events, list_socket
from streaming.delivery.sse import session_events
from streaming.delivery.websocket import session_socket

_SOCKET = re.compile(r"/ws/sessions(?:/(?P<session_id>[^/]+))?")
_EVENTS = re.compile(r"/api/sessions(?:/(?P<session_id>[^/]+))?")


async def sockets(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    """The WebSocket application."""
    try:
        check_host(scope)
        found = _SOCKET.fullmatch(scope["path"])
        if found is None:
            raise NotFound
    except Problem as problem:
        await receive()
        await refuse_socket(scope, problem, send)
        return
    session_id = found["session_id"]
    if session_id is None:
        await list_socket(scope, receive, send)
    else:
        await session_socket(scope, receive, send, session_id)


def event_stream(scope: Scope, receive: Receive, send: SendAsgi) -> Awaitable[None] | None:
    """The response to a request for an event stream; None where the request is none."""
    if scope["method"] != "GET" or not _wants_events(scope):
        return None
    found = _EVENTS.fullmatch(scope["path"])
    return None if found is None else _events(scope, receive, send, found["session_id"])


async def _events(scope: Scope, receive: Receive, send: SendAsgi, session_id: str | None) -> None:
    try:
        check_host(scope)
    except Problem as problem:
        await refuse_http(problem, send)
        return
    if session_id is None:
        await list_events(scope, receive, send)
    else:
        await session_events(scope, receive, send, session_id)


def _wants_events(scope: Scope) -> bool:
    accepted = headers_of(scope).get("accept", "")
    return any(part.partition(";")[0].strip().lower() == "text/event-stream" for part in accepted.split(","))
