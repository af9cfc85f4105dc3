"""`sessions_app.live.Live` over channel layers: calls find the actor by its row and are bounded in time."""

from __future__ import annotations

import asyncio
from typing import Any, Literal
from uuid import UUID

from sessions_app.live import Change, Cursor, LiveReply
from sessions_app.store.claims import Address
from streaming.delivery import process
from streaming.delivery.calls import NotTaken
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.feed.events import encode
from streaming.layer import HOSTS_GROUP, RETRY_SECONDS, Message, group_send

# An actor answers in milliseconds; one that does not within this share of the time may have died while asked.
ASKS_PER_CAPTURE = 3
# Between two looks at the row of a session whose actor is being started.
CLAIM_POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 0.4
# A claim may be lost with its message: it is sent again this often.
CLAIM_REPEAT_SECONDS = 1.0
# Nobody knows how many hosts there are: where a layer cannot tell, this long is waited for all of them.
HOSTS_SECONDS = 1.0
HOSTS_MOST = 256


class ChannelLive:
    """Stateless; what it needs belongs to the running loop."""

    async def wake(self, session_id: UUID) -> None:
        calls = process.current().calls
        address = await calls.address(session_id)
        if address is None:
            await calls.claim(session_id)
        else:
            await calls.tell(address.channel, {"type": "actor.wake"})

    async def interrupt(self, session_id: UUID, run_id: UUID, *, superseded: bool = False) -> None:
        message = {"type": "actor.interrupt", "run_id": str(run_id), "superseded": superseded}
        await self._tell(session_id, message)

    async def stop(self, session_id: UUID, reason: Literal["restart", "deleted"]) -> None:
        await self._tell(session_id, {"type": "actor.stop", "reason": reason})

    async def inspect(self, session_id: UUID) -> dict[str, Any] | None:
        delivery = process.current()
        address = await delivery.calls.address(session_id)
        if address is None:
            return None
        try:
            question: Message = {"type": "actor.inspect"}
            return await delivery.calls.ask(address.channel, question, delivery.limits.capture_seconds)
        except NotTaken:
            return None

    async def capture(self, session_id: UUID, cursor: Cursor | None, *, start: bool) -> LiveReply | None:
        try:
            async with asyncio.timeout(process.current().limits.capture_seconds):
                return await self._capture(session_id, cursor, start=start)
        except TimeoutError:
            return None

    async def announce(self, session_id: UUID, owner_id: int, change: Change) -> None:
        text = encode({"events": [{"type": change, "session_id": str(session_id)}]})
        layer, message = process.current().broadcast, {"type": "session.summary", "text": text}
        # Lists are read again after any reconnect; nothing durable rides on this.
        await asyncio.gather(*(group_send(layer, group, message) for group in (f"user.{owner_id}", "staff")))

    async def layer_up(self) -> bool:
        return await process.current().probe.up()

    async def hosts(self) -> list[dict[str, Any]]:
        delivery = process.current()
        layer = delivery.broadcast
        members = layer.member_count(HOSTS_GROUP) if isinstance(layer, MemoryChannelLayer) else HOSTS_MOST
        if not members:
            return []

        async def ask(reply: dict[str, str]) -> None:
            await layer.group_send(HOSTS_GROUP, {"type": "host.report", **reply})

        found = await delivery.calls.collect(ask, HOSTS_SECONDS, min(members, HOSTS_MOST))
        return sorted(found, key=lambda host: str(host.get("host")))

    async def _tell(self, session_id: UUID, message: dict[str, Any]) -> None:
        calls = process.current().calls
        address = await calls.address(session_id)
        if address is not None:
            await calls.tell(address.channel, message)

    async def _capture(self, session_id: UUID, cursor: Cursor | None, *, start: bool) -> LiveReply | None:
        """Ask until one answers; the caller's deadline ends it. Without `start` a layer has one try."""
        calls = process.current().calls
        while True:
            address = await calls.address(session_id)
            if address is None:
                if not start:
                    return None
                address = await self._started(session_id)
            try:
                reply = await self._ask(address, cursor)
            except NotTaken:
                if not start:
                    return None
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if reply is not None:
                return reply

    async def _ask(self, address: Address, cursor: Cursor | None) -> LiveReply | None:
        delivery = process.current()
        message = {
            "type": "actor.capture",
            "after_generation": cursor.generation if cursor else None,
            "after_seq": cursor.sequence if cursor else None,
        }
        seconds = delivery.limits.capture_seconds / ASKS_PER_CAPTURE
        reply = await delivery.calls.ask(address.channel, message, seconds)
        return None if reply is None else LiveReply(**reply)

    async def _started(self, session_id: UUID) -> Address:
        """The address of the actor that some host starts for us."""
        calls = process.current().calls
        loop = asyncio.get_running_loop()
        claim_at, pause = loop.time(), CLAIM_POLL_SECONDS
        while True:
            if loop.time() >= claim_at:
                await calls.claim(session_id)
                claim_at = loop.time() + CLAIM_REPEAT_SECONDS
            address = await calls.address(session_id)
            if address is not None:
                return address
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_POLL_SECONDS)
