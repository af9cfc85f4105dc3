"""`/ws/sessions`, and SSE on the collection: a session list is told what to read again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from sessions_app.problems import Problem
from streaming.delivery import guard, process, stream
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest
from streaming.delivery.query import no_query
from streaming.delivery.refusals import Receive, Scope, SendAsgi, close_code, refuse_http, refuse_socket
from streaming.delivery.sse import HEADERS, Messages, until_client_leaves
from streaming.delivery.summaries import READY, Changes, listening
from streaming.delivery.websocket import chosen_subprotocol, until_client_ends

logger = logging.getLogger(__name__)

SendText = Callable[[str], Awaitable[None]]


async def list_socket(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    await receive()
    try:
        async with process.current().turns.take(receive) as turn:
            if turn is None:
                return
            guest = await guard.admit(scope)
        subprotocol = chosen_subprotocol(scope)
        no_query(scope["query_string"])
    except Problem as problem:
        await refuse_socket(scope, problem, send)
        return
    await send({"type": "websocket.accept", "subprotocol": subprotocol})

    async def deliver(text: str) -> None:
        with stream.client_there():
            await send({"type": "websocket.send", "text": text})

    try:
        async with _listening(guest) as changes:
            code = await _served(changes, guest, deliver, lambda: until_client_ends(receive))
    except Problem as problem:
        code = close_code(problem)
    if code is not None:
        await send({"type": "websocket.close", "code": int(code)})


async def list_events(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    message = Messages()

    async def deliver(text: str) -> None:
        with stream.client_there():
            await send(message(text))

    try:
        async with process.current().turns.take(lambda: until_client_leaves(receive)) as turn:
            if turn is None:
                return
            guest = await guard.admit(scope)
        no_query(scope["query_string"])
        async with _listening(guest) as changes:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            code = await _served(changes, guest, deliver, lambda: until_client_leaves(receive))
    except Problem as problem:
        await refuse_http(problem, send)
        return
    if code is not None:
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _listening(guest: Guest) -> AsyncIterator[Changes]:
    """Raises a Problem where there is no room, or no layer that would tell of changes."""
    delivery = process.current()
    with delivery.hub.admitted(guest.user.pk):
        async with listening(delivery.broadcast, guest.user, delivery.limits.capture_seconds) as changes:
            yield changes


async def _served(
    changes: Changes, guest: Guest, deliver: SendText, departure: Callable[[], Awaitable[Close | None]]
) -> Close | None:
    try:
        return await stream.until_ended(_told(changes, deliver), guest, None, departure)
    except Exception:
        logger.exception("A list of sessions could not be told of changes")
        return Close.FAULT


async def _told(changes: Changes, deliver: SendText) -> None:
    limits = process.current().limits
    text = READY
    while True:
        try:
            async with asyncio.timeout(limits.send_seconds):
                await deliver(text)
        except TimeoutError as error:
            raise Ended(Close.TOO_SLOW) from error
        text = await changes.next(limits.keepalive_seconds)
