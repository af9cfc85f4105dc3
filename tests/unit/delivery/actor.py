"""A session's actor as delivery sees it: real window, real layers, no work of its own.

It can lose what it sends, die, and come back as a new generation.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import orjson

from sessions_app.store.claims import Address
from streaming.delivery.calls import Calls
from streaming.feed import batch, live_state
from streaming.feed.capture import capture
from streaming.feed.events import Event, encode
from streaming.feed.window import Window

PAGE_BYTES = 1024 * 1024


class FakeActor:
    """Answers on a channel of its own; `publish` puts a batch into the session's group."""

    def __init__(
        self,
        commands: Any,
        broadcast: Any,
        session_id: UUID,
        number: int = 1,
        *,
        window_events: int = 1_024,
        page_bytes: int = PAGE_BYTES,
    ) -> None:
        self.generation = f"{number}-{number:08x}"
        self.session_id = session_id
        self.window = Window(window_events, 4 * 1024 * 1024)
        self.state = live_state.initial(
            self.generation,
            input_order=0,
            pending_inputs=[],
            pending_approvals=[],
            usage={},
            high_water=0,
        )
        self.watchers: dict[str, int] = {}
        self.captures = 0
        self.channel = ""
        self._commands = commands
        self._broadcast = broadcast
        self._page_bytes = page_bytes
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> Address:
        return Address(self.channel, self.generation)

    async def start(self, *, hello: bool = True) -> FakeActor:
        return await self.start_on(await self._commands.new_channel("actor"), hello=hello)

    async def start_on(self, channel: str, *, hello: bool = True) -> FakeActor:
        self.channel = channel
        self._task = asyncio.create_task(self._answer())
        if hello:
            await self._say(batch.hello(self.generation))
        return self

    async def die(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def publish(self, *events: Event, lose: bool = False) -> batch.Batch:
        """Number and send events as one batch; a lost one was sent as far as the actor knows."""
        held = [self.window.append(event) for event in events]
        for sequenced in held:
            self.state = live_state.fold_live(self.state, orjson.loads(sequenced.text))
        sent = batch.batch(self.generation, held)
        if not lose:
            await self._say(sent)
        return sent

    async def say(self, sent: batch.Batch) -> None:
        """Send a batch again, or late."""
        await self._say(sent)

    async def _say(self, sent: batch.Batch) -> None:
        message = batch.message(str(self.session_id), sent)
        await self._broadcast.group_send(f"session.{self.session_id.hex}", message)

    async def _answer(self) -> None:
        while True:
            message = await self._commands.receive(self.channel)
            text = self._answer_to(message)
            if text is not None and message.get("reply_to"):
                reply = {"type": "live.reply", "request_id": message["request_id"], "text": text}
                await self._commands.send(message["reply_to"], reply)

    def _answer_to(self, message: dict[str, Any]) -> str | None:
        if message["type"] == "actor.capture":
            self.captures += 1
            return capture(
                self.window,
                self.state,
                after_generation=message["after_generation"],
                after_sequence=message["after_seq"],
                page_bytes=self._page_bytes,
            )
        if message["type"] == "actor.watch":
            self.watchers[message["watcher"]] = message["count"]
            return encode({"generation": self.generation, "newest": self.window.newest})
        if message["type"] == "actor.inspect":
            return encode({"generation": self.generation, "watchers": sum(self.watchers.values())})
        return None


class AddressBook(Calls):
    """Calls whose rows are a dict: `actors` by session; `claims` are counted and may start one."""

    def __init__(self, layer: Any) -> None:
        super().__init__(layer)
        self.actors: dict[UUID, FakeActor] = {}
        self.claims: list[UUID] = []

    async def address(self, session_id: UUID) -> Address | None:
        actor = self.actors.get(session_id)
        return actor.address if actor else None

    async def claim(self, session_id: UUID) -> None:
        self.claims.append(session_id)


def note(text: str) -> Event:
    return Event("note", {"code": "n", "text": text})
