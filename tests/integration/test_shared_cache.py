"""The cache of all processes over a real Redis, that goes and comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from albedo_project import caches
from albedo_project.caches import SharedCache
from tests.support.services import RedisServer

MakeCache = Callable[[], SharedCache]


@pytest.fixture
def new_cache(own_redis: RedisServer) -> Iterator[MakeCache]:
    """Each as of another process; its connections are closed with the test."""
    made: list[Any] = []

    def make() -> SharedCache:
        made.append(SharedCache(own_redis.url, {"OPTIONS": {"socket_timeout": 5}}))
        return cast(SharedCache, made[-1])

    yield make
    for cache in made:
        for pool in cache._cache._pools.values():
            pool.disconnect()


def test_while_redis_is_away_a_process_counts_for_itself(
    own_redis: RedisServer, new_cache: MakeCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = new_cache(), new_cache()
    assert one.add("tries", 0, 60)
    one.incr("tries")
    assert two.get_many(["tries"]) == {"tries": 1}
    own_redis.stop()
    assert one.get_many(["tries"]) == {}
    with pytest.raises(ValueError):
        one.incr("tries")
    one.set("tries", 1, 60)
    assert one.incr("tries") == 2
    own_redis.start()
    assert one.get("tries") == 2, "it is left alone for a while"
    monkeypatch.setattr(one, "away_until", float("-inf"))
    assert one.get("tries") is None
    one.set("tries", 7, 60)
    assert two.get("tries") == 7


def test_a_redis_that_is_away_is_asked_once_in_a_while(own_redis: RedisServer, new_cache: MakeCache) -> None:
    cache = new_cache()
    own_redis.stop()
    cache.get("a")
    left = cache.away_until
    cache.get("a")
    assert cache.away_until == left
    assert caches.AWAY_SECONDS > 0
