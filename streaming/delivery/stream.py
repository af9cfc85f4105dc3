"""What WebSocket and SSE have in common: a session's stream for one guest, until something ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from django.db import DatabaseError

from sessions_app.live import Cursor
from sessions_app.problems import NotFound, Unavailable
from sessions_app.snapshots import attach_page
from streaming.delivery import guard, process
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest
from streaming.delivery.pump import Pump, Send
from streaming.delivery.query import Query

Ending = Coroutine[Any, Any, None]


@asynccontextmanager
async def opened(session_id: UUID, query: Query, send: Send) -> AsyncIterator[Pump | None]:
    """A pump whose first page is captured, None where no actor answered. Joins before it captures."""

    async def attach(cursor: Cursor | None) -> dict[str, Any] | None:
        try:
            return await attach_page(session_id, cursor, tail=query.tail)
        except (Unavailable, DatabaseError):
            return None
        except NotFound as error:
            raise Ended(Close.UNKNOWN_SESSION) from error

    delivery = process.current()
    subscription = await delivery.hub.subscribe(session_id)
    try:
        pump = Pump(subscription, attach, send, delivery.limits)
        yield pump if await pump.begin(query.cursor) else None
    finally:
        subscription.close()


async def until_ended(
    work: Ending, guest: Guest, session_id: UUID | None, departure: Callable[[], Awaitable[Close | None]]
) -> Close | None:
    """Run `work` until it, the guard, the process or the client ends it: why, None where the client left."""
    tasks = [
        asyncio.ensure_future(part)
        for part in (
            work,
            guard.watch(guest, session_id, process.RECHECK_SECONDS),
            _process_ends(),
            _departs(departure),
        )
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return _reason(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Departed(Exception):
    """The client is gone: nobody is left to tell."""


async def _process_ends() -> None:
    await process.current().hub.closing.wait()
    raise Ended(Close.RESTARTING)


async def _departs(departure: Callable[[], Awaitable[Close | None]]) -> None:
    code = await departure()
    raise Departed if code is None else Ended(code)


def _reason(done: set[asyncio.Task[None]]) -> Close | None:
    errors = [task.exception() for task in done]
    if any(isinstance(error, Departed) for error in errors):
        return None
    for error in errors:
        if isinstance(error, Ended):
            return error.code
    for error in errors:
        if error is not None:
            raise error
    return None
