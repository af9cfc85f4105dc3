"""`/ws/sessions/{id}`: a session's stream over a WebSocket. A client only listens; who speaks is closed."""

from __future__ import annotations

import logging
from uuid import UUID

from sessions_app.problems import InvalidRequest, Problem
from streaming.delivery import guard, process, stream
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest
from streaming.delivery.pump import Delivery
from streaming.delivery.query import Query, parse_query
from streaming.delivery.refusals import Receive, Scope, SendAsgi, close_code, refuse_socket
from streaming.delivery.turns import Turn

logger = logging.getLogger(__name__)

SUBPROTOCOL = "albedo.v1"


async def session_socket(scope: Scope, receive: Receive, send: SendAsgi, session_id: str) -> None:
    """Whoever may not have the stream is refused before the upgrade; close codes are for those inside."""
    await receive()
    async with process.current().turns.take(receive) as turn:
        if turn is None:
            return
        try:
            guest = await guard.admit(scope)
            subprotocol = chosen_subprotocol(scope)
            query = parse_query(scope["query_string"])
            session = await guard.session_of(guest, session_id)
        except Problem as problem:
            await refuse_socket(scope, problem, send)
            return
        await send({"type": "websocket.accept", "subprotocol": subprotocol})
        code = await _served(receive, send, guest, session.id, query, turn)
    if code is not None:
        await send({"type": "websocket.close", "code": int(code)})


def chosen_subprotocol(scope: Scope) -> str | None:
    """Ours where the client offers any: a token among the offers is not said back. Raises InvalidRequest."""
    offered = scope.get("subprotocols") or []
    if not offered:
        return None
    if SUBPROTOCOL not in offered:
        raise InvalidRequest(f"Offer the subprotocol {SUBPROTOCOL}.")
    return SUBPROTOCOL


async def until_client_ends(receive: Receive) -> Close | None:
    """None when the client has left; the close code for one that speaks."""
    message = await receive()
    return Close.PROTOCOL if message["type"] == "websocket.receive" else None


async def _served(
    receive: Receive, send: SendAsgi, guest: Guest, session_id: UUID, query: Query, turn: Turn
) -> Close | None:
    async def deliver(delivery: Delivery) -> None:
        with stream.client_there():
            await send({"type": "websocket.send", "text": delivery.text})

    async def pumped() -> None:
        async with stream.opened(session_id, query, deliver) as pump:
            turn.leave()
            if pump is None:
                raise Ended(Close.RESTARTING)
            await pump.run()

    try:
        with process.current().hub.admitted(guest.user.pk):
            return await stream.until_ended(pumped(), guest, session_id, lambda: until_client_ends(receive))
    except Problem as problem:
        return close_code(problem)
    except Exception:
        logger.exception("The stream of session %s broke", session_id)
        return Close.FAULT
