"""The port to the live half: all that the lasting half may ask of it.

The implementation is named in `settings.LIVE_BACKEND` by dotted path and made once a process. Every
call is bounded in time; a lost message costs delay, never a fact, because facts are in the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

Verdict = Literal["replay", "reset", "up_to_date"]
Change = Literal["invalidate", "activity"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a client is: a public generation and the sequence of the last event it has."""

    generation: str
    sequence: int


@dataclass(frozen=True, slots=True)
class LiveReply:
    """What an actor answers to a capture, taken atomically with respect to its publication.

    `live` is present only behind a reset: the snapshot without the session's own fields and without
    history, which is read up to `live["high_water"]`. `events` are the event objects after the cursor.
    """

    generation: str
    cursor: int
    verdict: Verdict
    reason: str | None
    oldest: int
    newest: int
    events: list[dict[str, Any]]
    more: bool
    live: dict[str, Any] | None


class Live(Protocol):
    async def wake(self, session_id: UUID) -> None:
        """Something durable changed: let the session's actor look, starting one where there is none."""

    async def interrupt(self, session_id: UUID, run_id: UUID, *, superseded: bool = False) -> None:
        """The run's interrupt is on record: tell its actor. `superseded`: a later input asked for it."""

    async def capture(self, session_id: UUID, cursor: Cursor | None, *, start: bool) -> LiveReply | None:
        """What the actor knows after `cursor`. None: no actor runs (and none was started), or none answered.

        With `start`, an actor is started where none runs and its answer awaited.
        """

    async def stop(self, session_id: UUID, reason: Literal["restart", "deleted"]) -> None:
        """End the actor as a crash would (`restart`), or because its session is gone."""

    async def inspect(self, session_id: UUID) -> dict[str, Any] | None:
        """Counts and sizes of the running actor; None where none runs."""

    async def hosts(self) -> list[dict[str, Any]]:
        """What every actor host that answers within about a second says of itself. Never raises.

        Each: `host`, `actors`, `draining`; `breakers` [{base_url, model, failures, wait_seconds, state:
        closed|open|half_open}] of endpoints with a failure; `streamless` [{base_url, model}]. No secrets.
        """

    async def layer_up(self) -> bool:
        """Whether a message comes back through each channel layer, within about two seconds. Never raises."""

    async def announce(self, session_id: UUID, owner_id: int, change: Change) -> None:
        """Tell session lists of a change; best effort."""


@cache
def live() -> Live:
    """The process's live half."""
    return cast(Live, import_string(settings.LIVE_BACKEND)())
