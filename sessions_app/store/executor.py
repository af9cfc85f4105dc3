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
from django.db import close_old_connections, connections

P = ParamSpec("P")
T = TypeVar("T")


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
    """Run a store function that writes, its transaction its own. Cancelling the caller does not stop it."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_writer(), _with_live_connection, partial(fn, *args, **kwargs))


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
