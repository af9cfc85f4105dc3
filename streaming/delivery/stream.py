"""What WebSocket and SSE have in common: a session's stream for one guest, until something ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

from django.db import Error

from sessions_app.live import Cursor
from sessions_app.problems import NotFound, Unavailable
from streaming import meters
from streaming.delivery import process
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest
from streaming.delivery.pages import Page
from streaming.delivery.pump import Pump, Send
from streaming.delivery.query import Query
from streaming.delivery.watch import Subscription

Departure = Callable[[], Awaitable[Close | None]]


# A server that closed a socket itself refuses what is sent to it, and tells `receive` at about that time.
TELLING_SECONDS = 0.5


class Departed(Exception):
    """The client is gone: nobody is left to tell."""


@contextmanager
def client_there() -> Iterator[None]:
    """Around a send: what ASGI servers raise for a client that is gone becomes Departed."""
    try:
        yield
    except OSError as error:
        raise Departed from error


@asynccontextmanager
async def opened(session_id: UUID, query: Query, send: Send) -> AsyncIterator[Pump | None]:
    """A pump whose first page is captured, None where no actor answered. Joins before it captures."""
    delivery = process.current()

    async def attach(cursor: Cursor | None) -> Page | None:
        try:
            return await delivery.pages.get(session_id, cursor, query.tail)
        except (Unavailable, Error):
            return None
        except NotFound as error:
            raise Ended(Close.UNKNOWN_SESSION) from error

    async with _subscribed(session_id) as subscription:
        if subscription is None:
            yield None
            return
        pump = Pump(subscription, attach, send, delivery.limits)
        yield pump if await pump.begin(query.cursor) else None


@asynccontextmanager
async def _subscribed(session_id: UUID) -> AsyncIterator[Subscription | None]:
    delivery = process.current()
    try:
        async with asyncio.timeout(delivery.limits.capture_seconds):
            subscription = await delivery.hub.subscribe(session_id)
    except TimeoutError:
        yield None
        return
    try:
        yield subscription
    finally:
        subscription.close()


async def until_ended(
    work: Coroutine[Any, Any, None], guest: Guest, session_id: UUID | None, departure: Departure
) -> Close | None:
    """Run `work` until it, the guard, the process or the client ends it: why, None where the client left."""
    with meters.subscribed(guest.transport, "list" if session_id is None else "session") as counted:
        code = await _until_ended(work, guest, session_id, departure)
        counted.reason = code.name.lower() if code else "client"
        return code


async def _until_ended(
    work: Coroutine[Any, Any, None], guest: Guest, session_id: UUID | None, departure: Departure
) -> Close | None:
    watching = process.current().rechecks.watch(guest, session_id)
    tasks = [asyncio.create_task(part) for part in (work, watching, _process_ends(), _departs(departure))]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if _unforeseen(done):
            await asyncio.wait(tasks[-1:], timeout=TELLING_SECONDS)
        return _reason({task for task in tasks if task.done()})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _process_ends() -> None:
    await process.current().hub.closing.wait()
    raise Ended(Close.RESTARTING)


async def _departs(departure: Departure) -> None:
    code = await departure()
    raise Departed if code is None else Ended(code)


def _unforeseen(done: set[asyncio.Task[None]]) -> bool:
    return not all(isinstance(task.exception(), Ended | Departed) for task in done)


def _reason(done: set[asyncio.Task[None]]) -> Close | None:
    """A client that left needs no code; else a code; else the fault is raised."""
    errors = [error for task in done if (error := task.exception()) is not None]
    if any(isinstance(error, Departed) for error in errors):
        return None
    for error in errors:
        if isinstance(error, Ended):
            return error.code
    if errors:
        raise errors[0]
    return None
