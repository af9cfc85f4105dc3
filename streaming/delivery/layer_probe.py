"""Whether the channel layers carry anything: a message of our own must come back through each of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from uuid import uuid4

from streaming.delivery.calls import Calls
from streaming.layer import Message, group_send, join, listen, new_channel

ECHO_SECONDS = 2.0


class LayerProbe:
    """Belongs to one event loop; `close` ends its receiver. Its channel is opened when it is first asked."""

    def __init__(self, calls: Calls, broadcast: Any) -> None:
        self._calls = calls
        self._broadcast = broadcast
        self._group = f"echo.{uuid4().hex}"
        self._channel: str | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Event] = {}

    async def up(self) -> bool:
        """False where a layer does not answer in time, or says why not. Never raises."""
        try:
            async with asyncio.timeout(ECHO_SECONDS):
                # In this order: while Redis is away, no channel after channel is opened in vain.
                return await self._calls.echo(ECHO_SECONDS) and await self._echo()
        except TimeoutError:
            return False

    async def close(self) -> None:
        if self._receiver is not None:
            self._receiver.cancel()
            with suppress(asyncio.CancelledError):
                await self._receiver
        self._receiver = self._channel = None

    async def _echo(self) -> bool:
        """Through the layer of groups, as batches go."""
        if self._channel is None:
            self._channel = await new_channel(self._broadcast, "echo")
            self._receiver = asyncio.create_task(listen(self._broadcast, self._channel, self._take))
        echo = uuid4().hex
        arrived = self._waiting[echo] = asyncio.Event()
        try:
            # A layer may forget its members.
            if not await join(self._broadcast, self._group, self._channel):
                return False
            if not await group_send(self._broadcast, self._group, {"type": "layer.echo", "echo": echo}):
                return False
            await arrived.wait()
        finally:
            del self._waiting[echo]
        return True

    async def _take(self, message: Message) -> None:
        arrived = self._waiting.get(message["echo"])
        if arrived is not None:
            arrived.set()
