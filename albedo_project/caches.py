"""The cache that all processes share, and what a process has of it while Redis is away.

What stands in it is counts of failed logins: without Redis each process counts its own, so that people can
still log in and nobody can try without end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

# After a failure Redis is left alone for this long: a login asks several times.
AWAY_SECONDS = 5.0


def _outliving(name: str) -> Callable[..., Any]:
    def call(self: SharedCache, *args: Any, **options: Any) -> Any:
        if time.monotonic() >= self.away_until:
            try:
                return getattr(RedisCache, name)(self, *args, **options)
            except RedisError as error:
                logger.warning("The shared cache is away: %s", type(error).__name__)
                self.away_until = time.monotonic() + AWAY_SECONDS
        return getattr(self.own, name)(*args, **options)

    return call


class SharedCache(RedisCache):
    """Redis for as long as it answers."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.own = LocMemCache("of-this-process", {})
        self.away_until = float("-inf")

    add = _outliving("add")
    get = _outliving("get")
    get_many = _outliving("get_many")
    set = _outliving("set")
    incr = _outliving("incr")
    delete = _outliving("delete")
    touch = _outliving("touch")
    has_key = _outliving("has_key")
