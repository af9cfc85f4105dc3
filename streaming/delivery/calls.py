"""Questions to actors over the channel layer: one reply channel a process, each question with a deadline.

A reply that never comes is None, not an exception: actors die, messages get lost, callers read the row anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import orjson

from sessions_app.store import executor
from sessions_app.store.claims import Address, actor_address
from streaming.layer import HOSTS_CHANNEL, Message, complain, listen, new_channel, send


class NotTaken(Exception):
    """The layer did not take the question: nobody will answer."""


class Calls:
    """Asks and tells. Belongs to one event loop; `close` ends its receiver."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._channel: str | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._collecting: dict[str, asyncio.Queue[dict[str, Any]]] = {}
        self._opening = asyncio.Lock()

    async def address(self, session_id: UUID) -> Address | None:
        """Where the session's actor listens, read from its row."""
        return await executor.read(actor_address, session_id)

    async def claim(self, session_id: UUID) -> None:
        """Ask any host to start the session's actor."""
        await self.tell(HOSTS_CHANNEL, {"type": "host.claim", "session_id": str(session_id)})

    async def tell(self, channel: str, message: Message) -> bool:
        """Send without an answer; False where the layer did not take it."""
        return await send(self._layer, channel, message)

    async def ask(self, channel: str, message: Message, seconds: float) -> dict[str, Any] | None:
        """The decoded reply, or None when none came within `seconds`. Raises NotTaken, at once or soon."""
        reply_to = await self._reply_channel()
        request_id = uuid4().hex
        reply = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            if not await self.tell(channel, {**message, "reply_to": reply_to, "request_id": request_id}):
                raise NotTaken
            async with asyncio.timeout(seconds):
                answer: dict[str, Any] = await reply
                return answer
        except TimeoutError:
            return None
        finally:
            del self._waiting[request_id]

    async def collect(
        self, ask: Callable[[dict[str, str]], Awaitable[None]], seconds: float, enough: int
    ) -> list[dict[str, Any]]:
        """The decoded replies of many, until there are `enough` or `seconds` are over. Never raises.

        `ask` sends the question with the two fields that it is given.
        """
        answers: list[dict[str, Any]] = []
        request_id = uuid4().hex
        arrived = self._collecting[request_id] = asyncio.Queue(enough)
        try:
            async with asyncio.timeout(seconds):
                await ask({"reply_to": await self._reply_channel(), "request_id": request_id})
                while len(answers) < enough:
                    answers.append(await arrived.get())
        except TimeoutError:
            pass
        except Exception as error:
            complain("hosts were not asked", error)
        finally:
            del self._collecting[request_id]
        return answers

    async def close(self) -> None:
        if self._receiver is not None:
            self._receiver.cancel()
            with suppress(asyncio.CancelledError):
                await self._receiver
            self._receiver = None

    async def echo(self, seconds: float) -> bool:
        """Whether a message of this process comes back to it within `seconds`."""
        request_id = uuid4().hex
        reply = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                channel = await self._reply_channel()
                sent = await self.tell(
                    channel, {"type": "live.reply", "request_id": request_id, "text": "{}"}
                )
                if sent:
                    await reply
                return sent
        except TimeoutError:
            return False
        finally:
            del self._waiting[request_id]

    async def _reply_channel(self) -> str:
        async with self._opening:
            if self._channel is None:
                self._channel = await new_channel(self._layer, "replies")
                self._receiver = asyncio.create_task(listen(self._layer, self._channel, self._settle))
            return self._channel

    async def _settle(self, message: Message) -> None:
        collected = self._collecting.get(message["request_id"])
        if collected is not None and not collected.full():
            collected.put_nowait(orjson.loads(message["text"]))
            return
        reply = self._waiting.get(message["request_id"])
        # A late or repeated reply has nobody waiting.
        if reply is not None and not reply.done():
            reply.set_result(orjson.loads(message["text"]))
