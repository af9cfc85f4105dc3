"""The two Redis layers, where lines may die without a word.

The stock client for groups takes an error of the line, as of a machine that vanished, for a read that found
nothing in its time: it reads again at once, for ever, and the event loop stands still. And it tells nobody
that it had to connect anew, though what was sent meanwhile is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from channels_redis.core import RedisChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer
from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.exceptions import ConnectionError as LineBroke
from redis.exceptions import RedisError


class RedisCommandLayer(RedisChannelLayer):  # type: ignore[misc]
    """The stock one for channels that have one reader, quiet about what it tidies up beside its work."""

    async def _clean_receive_backup(self, *args: Any) -> None:
        """Nobody waits for it. A message that stays with a Redis that went away may be received once more."""
        with contextlib.suppress(RedisError, OSError):
            await super()._clean_receive_backup(*args)


class _Honest:
    """What a connection is to do besides. `anew()` is called when subscriptions that were cut stand again."""

    def __init__(self, *, anew: Callable[[], None], **options: Any) -> None:
        super().__init__(**options)
        self._anew = anew
        self._subscribes = False

    def register_connect_callback(self, callback: Any) -> None:
        """Who subscribes asks for it, once it is connected: every later time is one anew."""
        super().register_connect_callback(callback)  # type: ignore[misc]
        self._subscribes = True

    async def connect_check_health(self, *args: Any, **options: Any) -> None:
        was_connected: bool = self.is_connected  # type: ignore[attr-defined]
        await super().connect_check_health(*args, **options)  # type: ignore[misc]
        if self._subscribes and not was_connected:
            self._anew()

    async def read_response(self, *args: Any, **options: Any) -> Any:
        response = await super().read_response(*args, **options)  # type: ignore[misc]
        reader: asyncio.StreamReader | None = self._reader  # type: ignore[attr-defined]
        if response is None and reader is not None and (error := reader.exception()) is not None:
            await self.disconnect(nowait=True)  # type: ignore[attr-defined]
            raise LineBroke("the line to Redis is dead") from error
        return response


def _honest(kind: type[AbstractConnection]) -> type[AbstractConnection]:
    return type(f"Honest{kind.__name__}", (_Honest, kind), {})


class RedisGroupLayer(RedisPubSubChannelLayer):  # type: ignore[misc]
    """As the stock one. Each of `hosts` is a mapping with an `address` (a URL) and options of the client.

    What is published is heard in every numbered database of a Redis: names carry the number, so that each can
    serve an installation of its own.

    `losses` are called when subscribers were cut off for a moment, and may have missed something.
    """

    def __init__(self, hosts: list[dict[str, Any]], **options: Any) -> None:
        parsed = [self._host(**host) for host in hosts]
        prefix = f"albedo-{parsed[0].get('db', 0)}-"
        super().__init__(hosts=parsed, **{"prefix": prefix, **options})
        self.losses: set[Callable[[], None]] = set()

    async def new_channel(self, prefix: str = "specific.") -> str:
        """As the stock one, which keeps the queue of a channel that it could not open: hours would add up."""
        layer = self._get_layer()
        channel = f"{layer.prefix}{prefix}{uuid4().hex}"
        try:
            await layer._subscribe_to_channel(channel)
        except BaseException:
            layer.channels.pop(channel, None)
            raise
        return channel

    def _host(self, *, address: str, **options: Any) -> dict[str, Any]:
        parts: dict[str, Any] = dict(parse_url(address))
        kind = parts.get("connection_class", Connection)
        return {**options, **parts, "connection_class": _honest(kind), "anew": self._anew}

    def _anew(self) -> None:
        for lost in list(self.losses):
            lost()
