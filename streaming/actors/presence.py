"""A host's answer to whoever asks all hosts of themselves. It only tells; nothing relies on being heard."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer

from streaming.actors.channel import receive

log = logging.getLogger("albedo.host")

HOSTS_GROUP = "actor-hosts-all"
# A layer may forget its members: Redis does so after a day, and whenever it starts anew.
REJOIN_SECONDS = 30.0
_RETRY_SECONDS = 0.5
# Leaving is a courtesy.
_PART_SECONDS = 1.0


class Presence:
    """`describe()` is asked at each question, on the loop; what it gives must be ready for JSON."""

    def __init__(self, describe: Callable[[], dict[str, Any]]) -> None:
        self._describe = describe
        self._groups = get_channel_layer("broadcast")
        self._replies = get_channel_layer()

    async def keep(self) -> None:
        """Be found and answer until cancelled, whatever the layer does meanwhile."""
        channel = await self._open()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._stay(channel))
            tasks.create_task(self._listen(channel))

    async def _open(self) -> str:
        while True:
            try:
                return str(await self._groups.new_channel("host"))
            except Exception as error:
                log.warning("no channel for questions: %s", type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _stay(self, channel: str) -> None:
        try:
            while True:
                joined = await self._join(channel)
                await asyncio.sleep(REJOIN_SECONDS if joined else _RETRY_SECONDS)
        finally:
            await self._part(channel)

    async def _join(self, channel: str) -> bool:
        """Also again: joining twice changes nothing."""
        try:
            await self._groups.group_add(HOSTS_GROUP, channel)
        except Exception as error:
            log.warning("the hosts' group cannot be joined: %s", type(error).__name__)
            return False
        return True

    async def _part(self, channel: str) -> None:
        try:
            async with asyncio.timeout(_PART_SECONDS):
                await self._groups.group_discard(HOSTS_GROUP, channel)
        except Exception as error:
            log.warning("the hosts' group cannot be left: %s", type(error).__name__)

    async def _listen(self, channel: str) -> None:
        while True:
            await self._answer(await receive(self._groups, channel))

    async def _answer(self, message: dict[str, Any]) -> None:
        """One question that cannot be answered is no reason to hear no other."""
        try:
            text = json.dumps(self._describe())
            reply = {"type": "live.reply", "request_id": message["request_id"], "text": text}
            await self._replies.send(message["reply_to"], reply)
        except Exception as error:
            log.warning("a question was not answered: %s", type(error).__name__)
