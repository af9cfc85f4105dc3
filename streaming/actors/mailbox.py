"""What waits to be answered, as readers see it: the database's pending inputs, told as events."""

from __future__ import annotations

import asyncio
from uuid import UUID

from sessions_app.models import Input
from sessions_app.render import PREVIEW_SCALARS, render_input
from sessions_app.store import executor, runs
from streaming.actors.publisher import Publisher


def preview(item: Input) -> dict[str, object]:
    """An input as it stands in `pending_inputs`: its text bounded."""
    return render_input(item, PREVIEW_SCALARS)


class Mailbox:
    """Follows the pending inputs. Messages only say that something changed: what did is read."""

    def __init__(self, session_id: UUID, publisher: Publisher, pending: list[Input]) -> None:
        self._session_id = session_id
        self._publisher = publisher
        self._shown = {item.uid: item for item in pending}
        # Taken by a run here, while a reading from before may still be on its way.
        self._taken: set[UUID] = set()
        # One reading at a time: of two, the older may come last, and would bring back what a run has taken.
        self._reading = asyncio.Lock()

    @property
    def empty(self) -> bool:
        return not self._shown

    @property
    def interrupts(self) -> bool:
        """Whether something that waits asked for the present run to be interrupted."""
        return any(item.when_busy == Input.WhenBusy.INTERRUPT for item in self._shown.values())

    async def refresh(self) -> None:
        """Read what is pending; tell what came and what was cancelled."""
        async with self._reading:
            await self._refresh()

    async def _refresh(self) -> None:
        rows = await executor.read(runs.pending_inputs, self._session_id)
        waiting = {item.uid: item for item in rows if item.uid not in self._taken}
        self._taken &= {item.uid for item in rows}
        for uid, item in waiting.items():
            if uid not in self._shown:
                self._shown[uid] = item
                self._tell(item)
        gone = [uid for uid in self._shown if uid not in waiting]
        if gone:
            await self._tell_cancelled(gone)

    async def _tell_cancelled(self, uids: list[UUID]) -> None:
        """One that is gone was cancelled, or is being taken by a run that will tell of it itself."""
        for item in await executor.read(runs.inputs_by_uid, self._session_id, uids):
            if item.state == Input.State.CANCELLED and self._shown.pop(item.uid, None) is not None:
                self._tell(item)

    def taken(self, items: list[Input]) -> None:
        """A run took these: they are committed."""
        for item in items:
            self._shown.pop(item.uid, None)
            self._taken.add(item.uid)
            self._tell(item)

    def _tell(self, item: Input) -> None:
        self._publisher.emit("input", {"input": preview(item)})
