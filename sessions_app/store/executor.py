"""Where database work of async code runs: one writer thread on SQLite, small pools elsewhere.

SQLite has one writer anyway; a queue in front of it is fair, where its own busy wait is not. The threads are
ours alone: nothing inherits a request's thread, so nothing queues behind one or dies with it.

Nothing waits without bound: work that cannot begin is given up, and what has begun ends by the limits of its
connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import Error, close_old_connections, connections

from sessions_app import meters
from sessions_app.instance import draining
from sessions_app.store.trouble import Busy, Kind, trouble_of

P = ParamSpec("P")
T = TypeVar("T")

# A wait that is over before it began still lets a free lock be taken.
SHORTEST_WAIT_SECONDS = 0.05
# A process that ends has no time for a lock that another program holds on to.
DRAINING_SECONDS = 3.0
# More in one queue than its threads can do in the time is refused at once: those in it would wait in vain.
QUEUED_MOST = 1_000


class _Queue:
    """One pool, and how much waits for it."""

    def __init__(self, workers: int, name: str) -> None:
        self.pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=f"store-{name}")
        self.name = name
        self.waiting = 0


@cache
def _writer() -> _Queue:
    single = connections["default"].vendor == "sqlite"
    return _Queue(1 if single else int(settings.ALBEDO["store_writers"]), "write")


@cache
def _reader() -> _Queue:
    return _Queue(int(settings.ALBEDO["store_readers"]), "read")


@cache
def _keeper() -> _Queue:
    return _writer() if connections["default"].vendor == "sqlite" else _Queue(1, "keep")


async def write(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a store function that writes, its transaction its own. Cancelling the caller does not stop it.

    Raises Busy for one that could not begin in `database_busy_seconds`; it is not run any more. On SQLite
    that is also all the time that it gets to wait for another program's lock.
    """
    return await _bounded(_writer(), partial(fn, *args, **kwargs), writes=True)


async def keep(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for what keeps leases alive: other writes, however many, must not cost a host its sessions."""
    return await _bounded(_keeper(), partial(fn, *args, **kwargs), writes=True)


async def read(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a store function that only reads. Raises Busy as `write` does."""
    return await _bounded(_reader(), partial(fn, *args, **kwargs), writes=False)


def close() -> None:
    """Finish queued work and give the threads' connections back: the last thing a process does."""
    for queue in (_writer, _reader, _keeper):
        if queue.cache_info().currsize:
            queue().pool.shutdown(wait=True)
        queue.cache_clear()


async def _bounded(queue: _Queue, job: Callable[[], T], *, writes: bool) -> T:
    if queue.waiting >= QUEUED_MOST:
        raise _busy("too much waits for the database")
    seconds = _patience_seconds()
    asked = time.monotonic()
    future = queue.pool.submit(_timed, queue.name, asked, job, asked + seconds if writes else None)
    gave_up = False

    def give_up() -> None:
        nonlocal gave_up
        gave_up = future.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, give_up)
    queue.waiting += 1
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if gave_up and task is not None and not task.cancelling():
            raise _busy("the database is busy") from None
        raise
    finally:
        queue.waiting -= 1
        timer.cancel()


def _busy(detail: str) -> Busy:
    meters.TROUBLES.labels(Kind.BUSY.value).inc()
    return Busy(detail)


def _timed(queue: str, asked: float, job: Callable[[], T], deadline: float | None) -> T:
    began = time.monotonic()
    meters.WAITS.labels(queue).observe(began - asked)
    try:
        return _with_live_connection(job, deadline)
    finally:
        if deadline is not None:
            meters.WRITES.observe(time.monotonic() - began)


def _patience_seconds() -> float:
    usual = float(settings.ALBEDO["database_busy_seconds"])
    return min(usual, DRAINING_SECONDS) if draining.begun else usual


def _with_live_connection(job: Callable[[], T], deadline: float | None) -> T:
    close_old_connections()
    try:
        if deadline is not None:
            _wait_for_locks_until(deadline)
        return job()
    except Exception as error:
        trouble = trouble_of(error)
        if trouble is not None:
            meters.TROUBLES.labels(trouble.kind.value).inc()
            if trouble.kind in (Kind.READ_ONLY, Kind.FAILED):
                _discard_connection()
        raise
    finally:
        # What is done is done: a connection that broke after it takes nothing back.
        with suppress(Error):
            close_old_connections()


def _wait_for_locks_until(deadline: float) -> None:
    connection = connections["default"]
    if connection.vendor == "sqlite":
        left = max(deadline - time.monotonic(), SHORTEST_WAIT_SECONDS)
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {round(left * 1000)}")


def _discard_connection() -> None:
    """A pool would hand it out again: to a server that became a standby, to a file that is not there."""
    connection = connections["default"]
    with suppress(Exception):
        if connection.connection is not None:
            connection.connection.close()
    with suppress(Error):
        connection.close()
