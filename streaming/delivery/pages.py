"""Pages of a session's stream, encoded once for all who stand at the same cursor at the same time.

After a lost batch or a new generation every subscriber of a session asks for the same page at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.live import Cursor
from streaming.feed.events import encode


@dataclass(frozen=True, slots=True)
class Page:
    """An encoded page with what a pump must know of it; `newest` is the last sequence of the window."""

    cursor: Cursor
    newest: int
    more: bool
    is_empty: bool
    text: str
    # Why it begins with a reset, where it does.
    reset: str | None = None


# The whole envelope after a cursor, as `sessions_app.snapshots.attach_page` gives it.
Fetch = Callable[[UUID, Cursor | None, int], Awaitable[dict[str, Any]]]
Key = tuple[UUID, Cursor | None, int]


def encoded(envelope: dict[str, Any]) -> Page:
    return Page(
        cursor=Cursor(envelope["generation"], envelope["cursor"]),
        newest=envelope["attach"]["newest"],
        more=envelope["more"],
        is_empty=not envelope["events"],
        text=encode(envelope),
        reset=envelope["attach"]["reason"],
    )


class Pages:
    """Belongs to one event loop. A page under way is shared; a finished one is not kept.

    Sharing skips nothing: whoever asks is subscribed already, so all behind the page's cursor is in the
    mirror, or shows there as a gap.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._under_way: dict[Key, asyncio.Task[Page]] = {}

    async def get(self, session_id: UUID, cursor: Cursor | None, tail: int) -> Page:
        """Raises what fetching raises. A caller's cancellation leaves the page to the others."""
        key = (session_id, cursor, tail)
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._make(key))
            task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(task)

    async def _make(self, key: Key) -> Page:
        return encoded(await self._fetch(*key))

    def _forget(self, key: Key, done: asyncio.Task[Page]) -> None:
        del self._under_way[key]
        if not done.cancelled():
            # Retrieved here too: those who asked may all have gone.
            done.exception()
