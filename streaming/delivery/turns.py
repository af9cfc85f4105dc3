"""Who attaches now, and who waits for it: first come, first served.

To attach takes several reads of the database, one behind the other. Of thousands that come at once, as when
another process ended, each would read once before any reads twice, and all would be late together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal

# Who takes longer waits for an actor: that must not hold up those whose actors are there.
HOLD_SECONDS = 0.5


class Turn:
    """One place, until `leave`."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._held = True
        self._limit = asyncio.get_running_loop().call_later(HOLD_SECONDS, self.leave)

    def leave(self) -> None:
        """Idempotent."""
        if self._held:
            self._held = False
            self._limit.cancel()
            self._places.release()


class Turns:
    """Belongs to one event loop."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)

    @asynccontextmanager
    async def take(self, departure: Callable[[], Awaitable[object]]) -> AsyncIterator[Turn | None]:
        """Waits for a place, which the end of the block gives back at the latest.

        None where `departure` came first: work for those who gave up waiting would make others give up, too.
        """
        if not await self._place(departure):
            yield None
            return
        turn = Turn(self._places)
        try:
            yield turn
        finally:
            turn.leave()

    async def _place(self, departure: Callable[[], Awaitable[object]]) -> bool:
        if not self._places.locked():
            return await self._places.acquire()
        place = asyncio.ensure_future(self._places.acquire())
        leaving = asyncio.ensure_future(departure())
        try:
            await asyncio.wait((place, leaving), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._give_up(place)
            raise
        finally:
            leaving.cancel()
        if leaving.done() and not leaving.cancelled():
            self._give_up(place)
            return False
        return True

    def _give_up(self, place: asyncio.Task[Literal[True]]) -> None:
        if place.done() and not place.cancelled():
            self._places.release()
        place.cancel()
