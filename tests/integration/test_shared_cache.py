"""The cache of all processes over a real Redis, that goes and comes back."""

from __future__ import annotations

import pytest

from albedo_project import caches
from albedo_project.caches import SharedCache
from tests.support.services import RedisServer


def cache_on(redis: RedisServer) -> SharedCache:
    return SharedCache(redis.url, {"OPTIONS": {"socket_timeout": 5}})


def test_while_redis_is_away_a_process_counts_for_itself(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = cache_on(own_redis), cache_on(own_redis)
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


def test_a_redis_that_is_away_is_asked_once_in_a_while(own_redis: RedisServer) -> None:
    cache = cache_on(own_redis)
    own_redis.stop()
    cache.get("a")
    left = cache.away_until
    cache.get("a")
    assert cache.away_until == left
    assert caches.AWAY_SECONDS > 0
