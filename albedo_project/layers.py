"""The channel layers and the cache, from `REDIS_URL`: of the one process, or shared by all."""

from __future__ import annotations

import socket
from typing import Any

MEMORY_LAYER = "streaming.delivery.memory_layer.MemoryChannelLayer"
# A wait for messages lasts 5 s, which is also the client's own limit on any answer: a quiet layer would fail.
# This is longer, and still ends what waits on a Redis that is gone.
ANSWER_SECONDS = 20
CONNECT_SECONDS = 5
# A process has one channel for the commands to all of its actors.
CAPACITY = 1_000
# Who logs in waits for the count of failed tries.
CACHE_SECONDS = 2
# A machine that vanished without a word is noticed after this, though nothing is sent to it.
KEEPALIVE = {
    socket.TCP_KEEPIDLE: 10,
    socket.TCP_KEEPINTVL: 5,
    socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: 20_000,
}


def channel_layers(redis_url: str) -> dict[str, dict[str, Any]]:
    """Commands to actors compete for one reader each; batches go to every process that watches."""
    if not redis_url:
        return {"default": {"BACKEND": MEMORY_LAYER}, "broadcast": {"BACKEND": MEMORY_LAYER}}
    host: dict[str, Any] = {"address": redis_url, "socket_timeout": ANSWER_SECONDS}
    if not redis_url.startswith("unix:"):
        host |= {
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_keepalive": True,
            "socket_keepalive_options": KEEPALIVE,
        }
    return {
        "default": {
            "BACKEND": "streaming.delivery.redis_layer.RedisCommandLayer",
            "CONFIG": {"hosts": [host], "capacity": CAPACITY},
        },
        "broadcast": {
            "BACKEND": "streaming.delivery.redis_layer.RedisGroupLayer",
            "CONFIG": {"hosts": [host]},
        },
    }


def caches(redis_url: str) -> dict[str, dict[str, Any]]:
    """Failed logins and one-time links count in every process alike."""
    if not redis_url:
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    return {
        "default": {
            "BACKEND": "albedo_project.caches.SharedCache",
            "LOCATION": redis_url,
            "OPTIONS": {"socket_timeout": CACHE_SECONDS},
        }
    }
