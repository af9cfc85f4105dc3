"""One subscriber's stream, whatever carries it: attach, then forward what follows, page where it is behind.

A pump holds a cursor and no queue. It sends a batch only when that begins at its cursor + 1; all else is
a page from the actor, which replays exactly or says that it resets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sessions_app import meters
from sessions_app.live import Cursor
from streaming.delivery.codes import Close, Ended
from streaming.delivery.mirror import Next
from streaming.delivery.pages import Page
from streaming.delivery.watch import Subscription
from streaming.feed.batch import Batch, keepalive
from streaming.limits import DeliveryLimits

# The page after a cursor; None where no actor answered in time. Raises Ended where there is no session.
Attach = Callable[[Cursor | None], Awaitable[Page | None]]
# Paging brought nothing though something should be there: the news is on its way.
NO_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to a subscriber: an encoded envelope and the position behind it."""

    cursor: Cursor
    text: str


Send = Callable[[Delivery], Awaitable[None]]


class Pump:
    """`begin` once, then `run`, which ends by an exception alone: Ended, cancellation, what `send` raises."""

    def __init__(
        self, subscription: Subscription, attach: Attach, send: Send, limits: DeliveryLimits
    ) -> None:
        self._subscription = subscription
        self._attach = attach
        self._send = send
        self._limits = limits
        self._cursor: Cursor | None = None
        self._first: Page | None = None

    async def begin(self, cursor: Cursor | None) -> bool:
        """Capture the first page; False where nobody answers. Nothing is sent yet."""
        self._cursor = cursor
        self._first = await self._attach(cursor)
        return self._first is not None

    async def run(self) -> None:
        if self._first is None:
            raise RuntimeError("begin comes first")
        page, self._first = self._first, None
        await self._send_page(page)
        while True:
            await self._step()

    async def _step(self) -> None:
        cursor = self._cursor
        if cursor is None:
            raise RuntimeError("a page has set the cursor")
        found = self._subscription.next(cursor.generation, cursor.sequence)
        if isinstance(found, Batch):
            await self._deliver(Delivery(Cursor(found.generation, found.last), found.text))
        elif found is Next.BEHIND:
            await self._catch_up(cursor)
        elif not await self._subscription.wait(self._limits.keepalive_seconds):
            await self._stay_alive(cursor)

    async def _catch_up(self, cursor: Cursor) -> None:
        page = await self._attach(cursor)
        if page is None:
            await self._stay_alive(cursor)
            await self._subscription.wait(self._limits.heal_seconds)
        elif page.is_empty and page.cursor == cursor:
            await self._subscription.wait(NO_PROGRESS_SECONDS)
        else:
            await self._send_page(page)

    async def _send_page(self, page: Page) -> None:
        """The page, and those behind it while it says that there are more."""
        following: Page | None = page
        while following is not None:
            page = following
            self._subscription.learn(page.cursor.generation, page.newest)
            await self._deliver(Delivery(page.cursor, page.text))
            if page.reset is not None:
                meters.RESETS.labels(page.reset).inc()
            following = await self._attach(page.cursor) if page.more else None

    async def _stay_alive(self, cursor: Cursor) -> None:
        await self._deliver(Delivery(cursor, keepalive(cursor.generation, cursor.sequence)))

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            async with asyncio.timeout(self._limits.send_seconds):
                await self._send(delivery)
        except TimeoutError as error:
            raise Ended(Close.TOO_SLOW) from error
        self._cursor = delivery.cursor
