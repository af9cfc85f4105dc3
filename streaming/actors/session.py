"""The session actor: one for each live session, alone allowed to write and to speak for it.

Its handlers are short: they change state and return. The work is one task beside them, which sees a stop by
its own exception; nothing here waits for a subscriber.
"""

from __future__ import annotations

import asyncio
import enum
import json
import logging
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from channels.consumer import AsyncConsumer, get_handler_name
from channels.layers import get_channel_layer
from django.db import Error

from sessions_app.live import live
from sessions_app.render import render_usage
from sessions_app.store import claims, executor
from sessions_app.store.fence import Fence, LeaseLost
from streaming.actors.mailbox import Mailbox, preview
from streaming.actors.publisher import Publisher
from streaming.actors.recorder import LAST_SECONDS
from streaming.actors.rest import Rest
from streaming.actors.services import Services
from streaming.actors.watchers import Watchers
from streaming.actors.work import Work
from streaming.endings import ended
from streaming.feed.live_state import initial
from streaming.layer import Message, group_send, listen, send, session_group
from streaming.providers.record import CancelReason

log = logging.getLogger("albedo.actor")

# More than the MCP servers' own bound; a killed kernel is gone in milliseconds, unless the system holds it.
CLOSE_SECONDS = 10.0


class Departure(enum.Enum):
    """Why an actor is gone, and so what its host does next."""

    LEFT = "left"
    CRASHED = "crashed"
    FENCED = "fenced"
    DELETED = "deleted"


class SessionActor(AsyncConsumer):  # type: ignore[misc]
    """Made for one claim; `live` runs it to its end."""

    def __init__(self, claim: claims.Claim, channel: str, services: Services) -> None:
        super().__init__()
        session = claim.session
        self.fence = claim.fence
        self.session_id: UUID = session.id
        self.claimed_at = claim.since
        self.channel_name = channel
        self._services = services
        self._layer = get_channel_layer()
        self._broadcast = get_channel_layer("broadcast")
        self._generation = session.public_generation
        state = initial(
            self._generation,
            input_order=session.input_order,
            pending_inputs=[preview(item) for item in claim.pending],
            pending_approvals=[],
            usage=render_usage(session.usage),
            high_water=session.head_position,
        )
        self.publisher = Publisher(session.id, self._generation, state, services.limits, self._send)
        self._mailbox = Mailbox(session.id, self.publisher, claim.pending)
        self._watchers = Watchers(services.limits.delivery.heal_seconds)
        self._owner_id: int = session.owner_id
        self._active = asyncio.Event()
        self._work = Work(self.fence, session, self.publisher, self._mailbox, services, self._active.set)
        self._departure: asyncio.Future[Departure] = asyncio.get_running_loop().create_future()

    async def live(self) -> Departure:
        """Serve until something ends it; its kernel is gone when this returns."""
        tasks: list[asyncio.Task[None]] = [
            asyncio.create_task(self.publisher.send_forever()),
            asyncio.create_task(listen(self._layer, self.channel_name, self.dispatch)),
            asyncio.create_task(self._work.serve()),
            asyncio.create_task(self._leave_when_idle()),
            asyncio.create_task(self._announce()),
        ]
        try:
            ends: list[asyncio.Future[Any]] = [*tasks, self._departure]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return self._outcome(tasks)
        finally:
            self.fence.closing_at = time.monotonic() + LAST_SECONDS
            self.publisher.mute()
            # A write that has to be finished may hold a task for seconds: no kernel is to run on meanwhile.
            await asyncio.gather(self._close_work(), ended(tasks), return_exceptions=True)
            await self._close_work()

    async def _close_work(self) -> None:
        """Bounded: while this actor is here its host makes no other one for the session."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._work.close()
        except Exception:
            log.exception("session %s: its kernel or its servers did not end", self.session_id)

    def _outcome(self, tasks: list[asyncio.Task[None]]) -> Departure:
        if self._departure.done():
            return self._departure.result()
        for task in tasks:
            error = task.exception() if task.done() and not task.cancelled() else None
            if isinstance(error, LeaseLost):
                self.fence.given_up = True
                log.warning(
                    "session %s: the lease is lost, generation %s stops", self.session_id, self._generation
                )
                return Departure.FENCED
            if error is not None:
                log.error("session %s: its actor failed", self.session_id, exc_info=error)
        return Departure.CRASHED

    async def dispatch(self, message: Message) -> None:
        # The parent's would hop to another thread for database connections that nothing here holds.
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            log.warning("no handler for %s", message.get("type"))
            return
        await handler(message)

    async def nudge(self) -> None:
        """Look again at what waits: a message that said so may have been lost."""
        try:
            await self._mailbox.refresh()
        except Error as error:
            log.warning("session %s: inputs could not be read: %s", self.session_id, type(error).__name__)
        self._work.wake()

    async def actor_wake(self, message: Message) -> None:
        await self.nudge()

    async def actor_capture(self, message: Message) -> None:
        text = self.publisher.capture(message["after_generation"], message["after_seq"])
        await self._reply(message, text)

    async def actor_interrupt(self, message: Message) -> None:
        # First the stop: a database that answers slowly must not delay it.
        reason: CancelReason = "superseded" if message.get("superseded") else "user_stop"
        self._work.interrupt(UUID(message["run_id"]), reason)
        await self.nudge()

    async def actor_watch(self, message: Message) -> None:
        self._watchers.count(message["watcher"], message["count"], time.monotonic())
        await self._reply(
            message, json.dumps({"generation": self._generation, "newest": self.publisher.window.newest})
        )

    async def actor_inspect(self, message: Message) -> None:
        projection, window = self._work.projection, self.publisher.window
        facts = {
            "watchers": self._watchers.total(time.monotonic()),
            "projection_bytes": projection.text_bytes(),
            "projection_size": projection.deep_size(),
            "window_events": len(window),
            "window_bytes": window.size_bytes,
            "generation": self._generation,
            "host": self._services.host,
        }
        await self._reply(message, json.dumps(facts))

    async def actor_stop(self, message: Message) -> None:
        self._depart(Departure.DELETED if message["reason"] == "deleted" else Departure.CRASHED)

    def interrupt(self, run_id: UUID) -> None:
        """The run's interrupt is on record, as a renewal found it. A later run is never touched."""
        self._work.interrupt(run_id, "superseded" if self._mailbox.interrupts else "user_stop")

    def fence_off(self) -> None:
        self.fence.given_up = True
        self.publisher.mute()
        self._depart(Departure.FENCED)

    async def drain(self) -> None:
        """Let the step end within its grace, interrupt what is left, give the lease back."""
        try:
            await self._work.drain(self._services.limits.actor.drain_seconds)
            await self._released(claims.release)
        finally:
            # Also where its host waits no longer: a run that cannot be stored would not end by itself.
            self._depart(Departure.LEFT)

    async def _leave_when_idle(self) -> None:
        actor, kernel = self._services.limits.actor, self._services.limits.kernel
        rest = Rest(actor.idle_seconds, kernel.idle_seconds, self.claimed_at)
        while True:
            await asyncio.sleep(min(actor.idle_seconds, kernel.idle_seconds, actor.renew_seconds))
            now = time.monotonic()
            watched = self._watchers.total(now) > 0
            verdict = rest.judge(now, busy=self._work.busy, kernel=self._work.kernel_alive, watched=watched)
            if verdict == "cull":
                await self._work.cull_kernel()
            elif verdict == "leave" and await self._released(claims.release_idle):
                return

    async def _released(self, release: Callable[[Fence, int], bool | None]) -> bool:
        """Whether the lease is given back, with the newest sequence on record: who has it needs no actor."""
        self.publisher.flush()
        try:
            if await executor.write(release, self.fence, self.publisher.window.newest) is False:
                await self.nudge()
                return False
        except LeaseLost:
            self._depart(Departure.FENCED)
        except Error as error:
            log.warning("session %s: its lease is not given back: %s", self.session_id, type(error).__name__)
            return False
        self._depart(Departure.LEFT)
        return True

    async def _announce(self) -> None:
        """Tell session lists that something goes on here, one time at a time however slow the layer is."""
        while True:
            await self._active.wait()
            self._active.clear()
            await live().announce(self.session_id, self._owner_id, "activity")

    def _depart(self, departure: Departure) -> None:
        if not self._departure.done():
            self._departure.set_result(departure)

    async def _reply(self, message: Message, text: str) -> None:
        if not message.get("reply_to"):
            return
        # Whoever asked has a deadline of its own; an actor does not end over an answer.
        reply = {"type": "live.reply", "request_id": message["request_id"], "text": text}
        await send(self._layer, message["reply_to"], reply)

    async def _send(self, message: Message) -> None:
        await group_send(self._broadcast, session_group(self.session_id), message)
