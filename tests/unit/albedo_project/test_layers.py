from __future__ import annotations

import pytest

from albedo_project.layers import caches, channel_layers


def test_without_redis_all_is_in_the_process() -> None:
    assert {layer["BACKEND"] for layer in channel_layers("").values()} == {
        "streaming.delivery.memory_layer.MemoryChannelLayer"
    }
    assert "locmem" in caches("")["default"]["BACKEND"]


@pytest.mark.parametrize(
    ("url", "alive"),
    [("redis://redis/0", True), ("rediss://:secret@redis:6380/1", True), ("unix:///run/redis.sock", False)],
)
def test_a_line_of_a_network_is_watched_and_one_within_the_machine_need_not_be(url: str, alive: bool) -> None:
    for layer in channel_layers(url).values():
        (host,) = layer["CONFIG"]["hosts"]
        assert host["address"] == url
        assert host["socket_timeout"] > 5
        assert ("socket_keepalive" in host) is alive


def test_a_login_does_not_wait_long_for_a_cache() -> None:
    cache = caches("redis://redis/0")["default"]
    assert cache["LOCATION"] == "redis://redis/0"
    assert cache["OPTIONS"]["socket_timeout"] <= 2
