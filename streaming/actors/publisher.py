"""What an actor says: provisional deltas are coalesced, everything is numbered, encoded once, and sent on.

Nothing here waits: the window is the queue, and one task carries what is new to the layer as fast as that
takes it. A layer that stands still costs a cursor; whoever watches sees the gap and asks for a page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import UUID

from streaming import meters
from streaming.endings import heed
from streaming.feed.batch import Batch, envelope, hello, message
from streaming.feed.capture import capture
from streaming.feed.events import Event
from streaming.feed.live_state import Bounds, State, fold_live
from streaming.feed.window import Window
from streaming.limits import Limits
from streaming.progress.coalesce import Coalescer, Update
from streaming.progress.projection import Change

log = logging.getLogger("albedo.publisher")

# What an attempt that is over, however it ended, must not be heard saying any more.
PROVISIONAL = ("text", "thinking", "tool_progress")

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Publisher:
    """One actor's voice in one generation. `state` is the live part that it begins with."""

    def __init__(self, session_id: UUID, generation: str, state: State, limits: Limits, send: Send) -> None:
        feed = limits.feed
        self.window = Window(feed.window_events, feed.window_bytes)
        self._session_id = str(session_id)
        self._generation = generation
        self._state = state
        self._page_bytes = feed.page_bytes
        self._bounds = Bounds(feed.current_message_bytes, feed.output_event_bytes)
        self._coalescer = Coalescer(feed, limits.progress)
        self._send = send
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._muted = False

    @property
    def state(self) -> State:
        """The live part after everything published."""
        return self._state

    def emit(self, kind: str, data: dict[str, Any]) -> None:
        """Say it now, or with its neighbours a little later where its kind is coalesced."""
        self._publish(self._coalescer.add(Update(kind, data), self._now()))

    def progress(self, changes: Iterable[Change]) -> None:
        for change in changes:
            update = Update("tool_progress", {"progress": change.progress}, change.immediate)
            self._publish(self._coalescer.add(update, self._now()))

    def void(self) -> None:
        """Forget what waits: the attempt that it is of is over, and its events would come too late."""
        self._coalescer.discard(*PROVISIONAL)
        self._arm()

    def flush(self) -> None:
        """Say what waits, so that what follows stands behind it."""
        self._publish(self._coalescer.flush())

    def mute(self) -> None:
        """Publish nothing ever again: another actor may be speaking for the session."""
        self._muted = True
        self.void()

    def capture(self, after_generation: str | None, after_sequence: int | None) -> str:
        """The answer to a capture as JSON text: taken in one go, it publishes and takes away nothing."""
        return capture(
            self.window,
            self._state,
            after_generation=after_generation,
            after_sequence=after_sequence,
            page_bytes=self._page_bytes,
            waiting=[{"type": update.type, "data": update.data} for update in self._coalescer.waiting],
            bounds=self._bounds,
        )

    async def send_forever(self) -> None:
        """Carry batches to the group until cancelled. What the layer refuses is still in the window."""
        await self._deliver(hello(self._generation))
        sent = 0
        while True:
            await self._news.wait()
            self._news.clear()
            while sent < self.window.newest:
                first = max(sent + 1, self.window.oldest)
                page = self.window.after(first - 1, self._page_bytes)
                text = envelope(self._generation, page.cursor, page.texts)
                sent = page.cursor
                await self._deliver(Batch(self._generation, first, sent, text))

    async def _deliver(self, batch: Batch) -> None:
        try:
            await self._send(message(self._session_id, batch))
        except Exception as error:
            log.warning("session %s: a batch was not sent: %s", self._session_id, type(error).__name__)
        heed()

    def _publish(self, updates: Iterable[Update]) -> None:
        for update in updates:
            if self._muted:
                return
            before = len(self.window)
            held = self.window.append(Event(update.type, dict(update.data)))
            meters.EVICTIONS.inc(before + 1 - len(self.window))
            event = {"type": update.type, "sequence": held.sequence, "data": update.data}
            self._state = fold_live(self._state, event, self._bounds)
            self._news.set()
        self._arm()

    def _arm(self) -> None:
        """The last delta is said also where nothing follows it: a timer stands for the next one due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._coalescer.next_due
        if due is not None and not self._muted:
            self._timer = asyncio.get_running_loop().call_at(due, self._on_due)

    def _on_due(self) -> None:
        self._publish(self._coalescer.due(self._now()))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
