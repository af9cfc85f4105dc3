"""Writes that are asked for once and told once, though the connection broke before their answer came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.conf import settings

from sessions_app.store.executor import write
from sessions_app.store.trouble import is_connection_lost

P = ParamSpec("P")
T = TypeVar("T")

# A database that restarts is back by then; one that is not is the client's to wait for.
SECONDS_MOST = 10.0
PAUSE_SECONDS = 0.25


async def settled(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`write`, run again where nobody knows whether it was stored: `fn` called again gives what it gave.

    It finds the first one by its key, so the answer is about that one. Raises the database's error where the
    connection stays away: then the same request again settles it.
    """
    began, seconds = time.monotonic(), min(SECONDS_MOST, float(settings.ALBEDO["database_busy_seconds"]))
    while True:
        try:
            return await write(fn, *args, **kwargs)
        except Exception as error:
            if not is_connection_lost(error) or time.monotonic() - began >= seconds:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
