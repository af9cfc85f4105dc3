"""Durable writes of an actor: tried again while the database is away for a moment, and never half done."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError

from sessions_app.store import attempts, executor
from sessions_app.store.fence import Fence
from streaming.providers.record import AttemptRecord

log = logging.getLogger("albedo.recorder")

P = ParamSpec("P")
T = TypeVar("T")

# A full disk or a long backup should cost a wait, not a run; SQLite itself waits out a lock before each try.
PATIENCE_SECONDS = 120.0
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 4.0
# What a write that must be finished gets once its actor is told to go: the process may be leaving.
LAST_SECONDS = 5.0


async def durable(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a store function that writes. Raises LeaseLost at once, the database's error when patience is over.

    A try whose connection broke may have been stored all the same: `fn` called again must give what it gave.
    """
    began = time.monotonic()
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return await executor.write(fn, *args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() - began >= PATIENCE_SECONDS:
                raise
            log.warning("a write is tried again: %s", type(error).__name__)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def shielded(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for a write that must be finished even if its task is told to go: the cancellation waits."""
    task = asyncio.ensure_future(durable(fn, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAST_SECONDS)
        task.cancel()
        raise


async def save(fence: Fence, record: AttemptRecord) -> None:
    """Store the attempt's record as it is now."""
    facts = record.to_json()
    await shielded(attempts.save_attempt, fence, UUID(record.id), UUID(record.run_id), facts)
