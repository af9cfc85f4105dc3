"""Durable writes of an actor: tried again while the database is away for a moment, and never half done."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.conf import settings

from sessions_app.store import attempts, executor
from sessions_app.store.fence import Fence, lost
from sessions_app.store.trouble import Busy, Kind, trouble_of
from streaming.providers.record import AttemptRecord

log = logging.getLogger("albedo.recorder")

P = ParamSpec("P")
T = TypeVar("T")
Stored = Callable[Concatenate[Fence, P], T]

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 4.0
# What a write that must be finished gets once its actor is told to go: the process may be leaving.
LAST_SECONDS = 5.0


async def durable(fn: Stored[P, T], fence: Fence, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a store function that writes. Raises LeaseLost at once, the database's error when patience is over.

    A try whose connection broke may have been stored all the same: `fn` called again must give what it gave.
    """
    return await patient(partial(executor.write, fn, fence, *args, **kwargs), fence)


async def unending(fn: Stored[P, T], fence: Fence, *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for what is better late than never: it is tried as long as the session is the actor's."""
    return await _tried(partial(executor.write, fn, fence, *args, **kwargs), fence, None)


async def patient(attempt: Callable[[], Awaitable[T]], fence: Fence) -> T:
    """The same for any work on the database, such as a reading that a run cannot do without."""
    return await _tried(attempt, fence, float(settings.ALBEDO["actor_patience_seconds"]))


async def shielded(fence: Fence, writing: Awaitable[T]) -> T:
    """`writing` finished even if its task is told to go: the cancellation waits, for a few seconds."""
    task = asyncio.ensure_future(writing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not fence.given_up:
            await asyncio.wait([task], timeout=LAST_SECONDS)
        # Whoever goes asks for nothing of it.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        task.cancel()
        raise


async def save(fence: Fence, record: AttemptRecord) -> None:
    """Store the attempt's record as it is now."""
    facts = record.to_json()
    saving = durable(attempts.save_attempt, fence, UUID(record.id), UUID(record.run_id), facts)
    await shielded(fence, saving)


async def _tried(attempt: Callable[[], Awaitable[T]], fence: Fence, patience_seconds: float | None) -> T:
    began = time.monotonic()
    pause, told = FIRST_PAUSE_SECONDS, False
    try:
        while True:
            if fence.given_up:
                raise lost(fence)
            try:
                return await _within(attempt, fence)
            except Exception as error:
                trouble = trouble_of(error)
                if trouble is None or _is_over(began, patience_seconds, fence):
                    raise
            # A connection that broke is replaced by the next try: only then there is something to tell of.
            if not told and (trouble.kind is not Kind.AWAY or pause > FIRST_PAUSE_SECONDS):
                told = True
                log.warning("session %s waits for the storage: %s", fence.session_id, trouble.kind.value)
                fence.blocked(trouble.run_code)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    finally:
        if told:
            log.warning("session %s waited %.1f s", fence.session_id, time.monotonic() - began)
            fence.blocked(None)


async def _within(attempt: Callable[[], Awaitable[T]], fence: Fence) -> T:
    if fence.closing_at is None:
        return await attempt()
    try:
        async with asyncio.timeout(max(fence.closing_at - time.monotonic(), 0)):
            return await attempt()
    except TimeoutError:
        raise Busy("the actor goes") from None


def _is_over(began: float, patience_seconds: float | None, fence: Fence) -> bool:
    now = time.monotonic()
    if fence.closing_at is not None and now >= fence.closing_at:
        return True
    return patience_seconds is not None and now - began >= patience_seconds
