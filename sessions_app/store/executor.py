"""Where database work of async code runs: one writer thread on SQLite, small pools elsewhere.

SQLite has one writer anyway; a queue in front of it is fair, where its own busy wait is not. The threads are
ours alone: nothing inherits a request's thread, so nothing queues behind one or dies with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import OperationalError, close_old_connections, connections

P = ParamSpec("P")
T = TypeVar("T")

# Behind a lock that another program holds every write waits in vain for as long as SQLite does: those in the
# queue must not wait for the sum of it.
QUEUE_SECONDS = 20.0


@cache
def _writer() -> ThreadPoolExecutor:
    single = connections["default"].vendor == "sqlite"
    workers = 1 if single else int(settings.ALBEDO["store_writers"])
    return ThreadPoolExecutor(max_workers=workers, thread_name_prefix="store-write")


@cache
def _reader() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        max_workers=int(settings.ALBEDO["store_readers"]), thread_name_prefix="store-read"
    )


def _with_live_connection(job: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return job()
    finally:
        close_old_connections()


async def write(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a store function that writes, its transaction its own. Cancelling the caller does not stop it.

    Raises OperationalError for one that could not begin in `QUEUE_SECONDS`, and is not run any more.
    """
    job = _writer().submit(_with_live_connection, partial(fn, *args, **kwargs))
    gave_up = False

    def give_up() -> None:
        nonlocal gave_up
        gave_up = job.cancel()

    timer = asyncio.get_running_loop().call_later(QUEUE_SECONDS, give_up)
    try:
        return await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if gave_up and task is not None and not task.cancelling():
            raise OperationalError("the database is busy") from None
        raise
    finally:
        timer.cancel()


async def read(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a store function that only reads."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_reader(), _with_live_connection, partial(fn, *args, **kwargs))


def close() -> None:
    """Finish queued work and give the threads' connections back: the last thing a process does."""
    for pool in (_writer, _reader):
        if pool.cache_info().currsize:
            pool().shutdown(wait=True)
        pool.cache_clear()
