"""One turn: an input goes out, and what happens is shown until it is answered. Ctrl-C stops, twice leaves."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sessions_app.ids import new_id
from sessions_app.terminal.client import Client
from sessions_app.terminal.screen import Screen, entry_text
from sessions_app.terminal.view import Applied, View


class Left(Exception):
    """The user asked twice to leave."""


@dataclass(slots=True)
class Turn:
    """How an input was answered: the run's outcome (or `cancelled`), and what the model said."""

    input_id: UUID
    outcome: str = ""
    error: str = ""
    said: list[str] = field(default_factory=list)

    def follow(self, applied: Applied) -> None:
        """Collect what was said behind the input's own entry, and see whether its run has ended."""
        for entry in applied.entries:
            if self.is_own(entry):
                self.said.clear()
            elif entry["kind"] == "assistant":
                self.said.append(entry_text(entry))
        for ended in applied.ended:
            if str(self.input_id) in ended["input_ids"]:
                self.end(ended["outcome"], ended["error"])

    def is_own(self, entry: Mapping[str, Any]) -> bool:
        return entry["kind"] == "user" and entry.get("input_id") == str(self.input_id)

    def end(self, outcome: str, error: Mapping[str, Any] | None) -> None:
        self.outcome = outcome
        self.error = str((error or {}).get("detail") or (error or {}).get("code") or "")


async def catch_up(client: Client, session_id: str, view: View, screen: Screen) -> None:
    """Show what there is so far."""
    with screen:
        async with aclosing(client.batches(session_id, view)) as batches:
            async for batch in batches:
                screen.show(view, view.apply(batch))
                return


async def take_turn(client: Client, session_id: str, view: View, screen: Screen, text: str) -> Turn:
    """Send `text` and follow its run to the end. Raises Left, Refused, Unreachable."""
    turn = Turn(new_id())
    stops = Stops()
    with stops.listening(), screen:
        following = asyncio.create_task(_follow(client, session_id, view, screen, turn, text))
        try:
            while not following.done():
                asked = asyncio.create_task(stops.wait())
                await asyncio.wait({following, asked}, return_when=asyncio.FIRST_COMPLETED)
                asked.cancel()
                if stops.count > 1:
                    raise Left
                if stops.fresh():
                    screen.tell("Stopping; once more leaves.")
                    await client.interrupt(session_id, view)
            return await following
        finally:
            following.cancel()


async def _follow(client: Client, session_id: str, view: View, screen: Screen, turn: Turn, text: str) -> Turn:
    sent = False
    async with aclosing(client.batches(session_id, view)) as batches:
        async for batch in batches:
            applied = view.apply(batch)
            turn.follow(applied)
            # The user has just typed it.
            applied.entries = [entry for entry in applied.entries if not turn.is_own(entry)]
            screen.show(view, applied)
            if not sent:
                # Only now: so nothing of the answer comes before the stream is there to show it.
                await client.send(session_id, turn.input_id, text)
                sent = True
            elif applied.reset:
                await _ask_again(client, session_id, turn)
            if turn.outcome:
                return turn
    raise AssertionError("the stream of batches has no end")


async def _ask_again(client: Client, session_id: str, turn: Turn) -> None:
    """Behind a reset the end of the run may have been missed: the input knows it."""
    known = await client.input(session_id, turn.input_id)
    if known["state"] == "cancelled":
        turn.end("cancelled", None)
    elif known["outcome"]:
        turn.end(known["outcome"], None)


class Stops:
    """Counts Ctrl-C."""

    def __init__(self) -> None:
        self.count = 0
        self._seen = 0
        self._event = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._stop)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _stop(self) -> None:
        self.count += 1
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()

    def fresh(self) -> bool:
        """Whether one came since this was last asked."""
        fresh = self.count > self._seen
        self._seen = self.count
        return fresh
