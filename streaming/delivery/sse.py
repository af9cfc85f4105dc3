"""A session's stream as server-sent events: the session's URL, asked for with `Accept: text/event-stream`."""

from __future__ import annotations

import logging
import random
from typing import Any
from uuid import UUID

from sessions_app.problems import LiveUnavailable, Problem
from streaming.delivery import guard, process, stream
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest
from streaming.delivery.pump import Delivery
from streaming.delivery.query import Query, parse_query
from streaming.delivery.refusals import Receive, Scope, SendAsgi, refuse_http
from streaming.delivery.turns import Turn

logger = logging.getLogger(__name__)

RETRY_MS = (1_000, 5_000)
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # A proxy that collects a response before passing it on would hold a live one for ever.
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


async def session_events(scope: Scope, receive: Receive, send: SendAsgi, session_id: str) -> None:
    """Problems before the start; afterwards the end of the stream is all that tells of one."""
    try:
        async with process.current().turns.take(lambda: until_client_leaves(receive)) as turn:
            if turn is None:
                return
            guest = await guard.admit(scope)
            query = parse_query(scope["query_string"], guard.headers_of(scope).get("last-event-id"))
            session = await guard.session_of(guest, session_id)
            with process.current().hub.admitted(guest.user.pk):
                await _served(receive, send, guest, session.id, query, turn)
    except Problem as problem:
        await refuse_http(problem, send)


async def until_client_leaves(receive: Receive) -> Close | None:
    """Nothing cancels the application when an HTTP client goes: this has to be watched."""
    while (await receive())["type"] != "http.disconnect":
        pass
    return None


class Messages:
    """The messages of one stream, as ASGI sends them. The first says how soon to come back after a loss."""

    def __init__(self) -> None:
        # Drawn for each stream: those who lose a process together do not come to the next one together.
        self._head = f"retry: {random.randint(*RETRY_MS)}\n"  # noqa: S311

    def __call__(self, text: str, identity: str | None = None) -> dict[str, Any]:
        """Encoded JSON has no line breaks, so one `data:` line holds it."""
        head = self._head if identity is None else f"{self._head}id: {identity}\n"
        self._head = ""
        return {"type": "http.response.body", "body": f"{head}data: {text}\n\n".encode(), "more_body": True}


async def _served(
    receive: Receive, send: SendAsgi, guest: Guest, session_id: UUID, query: Query, turn: Turn
) -> None:
    message = Messages()

    async def deliver(delivery: Delivery) -> None:
        identity = f"{delivery.cursor.generation}:{delivery.cursor.sequence}"
        with stream.client_there():
            await send(message(delivery.text, identity))

    try:
        async with stream.opened(session_id, query, deliver) as pump:
            turn.leave()
            if pump is None:
                raise LiveUnavailable
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            code = await stream.until_ended(
                pump.run(), guest, session_id, lambda: until_client_leaves(receive)
            )
    except Ended as ended:
        # Between the check and the capture the session went.
        raise Problem(404, "not_found", "There is nothing here that you may see.") from ended
    except Problem:
        raise
    except Exception:
        logger.exception("The event stream of session %s broke", session_id)
        code = Close.FAULT
    if code is not None:
        await send({"type": "http.response.body", "body": b""})
