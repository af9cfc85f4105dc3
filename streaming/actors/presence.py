"""A host's answer to whoever asks all hosts of themselves. It only tells; nothing relies on being heard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer

from streaming.layer import HOSTS_GROUP, RETRY_SECONDS, Message, join, listen, new_channel, part, send

# A layer may forget its members: Redis does so after a day, and whenever it starts anew.
REJOIN_SECONDS = 30.0


class Presence:
    """`describe()` is asked at each question, on the loop; what it gives must be ready for JSON."""

    def __init__(self, describe: Callable[[], dict[str, Any]]) -> None:
        self._describe = describe
        self._groups = get_channel_layer("broadcast")
        self._replies = get_channel_layer()

    async def keep(self) -> None:
        """Be found and answer until cancelled, whatever the layer does meanwhile."""
        channel = await new_channel(self._groups, "host")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._stay(channel))
            tasks.create_task(listen(self._groups, channel, self._answer))

    async def _stay(self, channel: str) -> None:
        try:
            while True:
                joined = await join(self._groups, HOSTS_GROUP, channel)
                await asyncio.sleep(REJOIN_SECONDS if joined else RETRY_SECONDS)
        finally:
            await part(self._groups, HOSTS_GROUP, channel)

    async def _answer(self, message: Message) -> None:
        reply = {
            "type": "live.reply",
            "request_id": message["request_id"],
            "text": json.dumps(self._describe()),
        }
        await send(self._replies, message["reply_to"], reply)
