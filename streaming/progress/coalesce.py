"""Fewer events, the same story: joins what may be joined while it waits, and keeps the order of the rest.

Pure: times are passed in, in seconds of one monotonic clock, and the caller wakes at `next_due`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streaming.limits import FeedLimits, ProgressLimits
from streaming.progress.scalars import first_bytes, last_bytes, utf8_length

_DELTAS: Final = frozenset({"text", "thinking", "tool_output"})
# A burst in one turn of the loop cannot wait longer than this: with full texts it is 1 MiB.
_WAITING_AT_MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Update:
    """An event to publish. `immediate` matters for `tool_progress` alone: deltas wait, all others do not."""

    type: str
    data: Mapping[str, Any]
    immediate: bool = False


@dataclass(slots=True)
class _Waiting:
    update: Update
    due: float
    text_bytes: int = 0

    @property
    def call_id(self) -> str | None:
        """The call whose progress this is."""
        progress = self.update.data["progress"] if self.update.type == "tool_progress" else None
        return progress["call_id"] if progress else None


class Coalescer:
    """Joins neighbours of one part (`text`, `thinking`, `tool_output` of a call), and keeps of each call's
    `tool_progress` the latest, at the place of the latest. No delta waits longer than its interval.
    """

    def __init__(self, feed: FeedLimits, progress: ProgressLimits) -> None:
        self._text_bytes = feed.text_event_bytes
        self._output_bytes = feed.output_event_bytes
        self._text_seconds = feed.text_coalesce_seconds
        self._progress_seconds = progress.coalesce_seconds
        self._waiting: list[_Waiting] = []

    @property
    def next_due(self) -> float | None:
        """When to call `due` next; None while nothing waits."""
        return min((waiting.due for waiting in self._waiting), default=None)

    @property
    def waiting(self) -> list[Update]:
        """What a flush would publish, in order. A capture shows it as well and takes nothing away."""
        return [self._bounded(waiting.update) for waiting in self._waiting]

    def add(self, update: Update, now: float) -> list[Update]:
        """What to publish at once: nothing, or all that waited and then an update that does not wait."""
        if update.type in _DELTAS:
            self._add_delta(update, now)
        elif update.type == "tool_progress" and update.data["progress"] and not update.immediate:
            self._add_progress(update, now)
        else:
            self._supersede(update)
            return [*self.flush(), update]
        return self.flush() if len(self._waiting) > _WAITING_AT_MOST else []

    def due(self, now: float) -> list[Update]:
        """What has waited its time, with all that waits before it."""
        last = max((at for at, waiting in enumerate(self._waiting) if waiting.due <= now), default=-1)
        return self._publish(last + 1)

    def flush(self) -> list[Update]:
        return self._publish(len(self._waiting))

    def discard(self, *types: str) -> None:
        """Takes out what waits of these types: a retry voids `text`, `thinking` and `tool_progress`."""
        self._waiting = [waiting for waiting in self._waiting if waiting.update.type not in types]

    def _add_progress(self, update: Update, now: float) -> None:
        due = now + self._progress_seconds
        for at, waiting in enumerate(self._waiting):
            if waiting.call_id == update.data["progress"]["call_id"]:
                due = self._waiting.pop(at).due
                break
        self._waiting.append(_Waiting(update, due))

    def _add_delta(self, update: Update, now: float) -> None:
        offset, text = update.data["offset_scalars"], update.data["text"]
        if update.type == "tool_output":
            if text:
                self._add_output(update, now + self._progress_seconds)
            return
        while text:
            piece = first_bytes(text, self._text_bytes)
            self._add_text(_with_text(update, offset, piece), now + self._text_seconds)
            offset, text = offset + len(piece), text[len(piece) :]

    def _add_text(self, update: Update, due: float) -> None:
        size = utf8_length(update.data["text"])
        last = self._waiting[-1] if self._waiting else None
        if last and _continues(last.update, update) and last.text_bytes + size <= self._text_bytes:
            last.update = _joined(last.update, update)
            last.text_bytes += size
        else:
            self._waiting.append(_Waiting(update, due, size))

    def _add_output(self, update: Update, due: float) -> None:
        last = self._waiting[-1] if self._waiting else None
        if last and _continues(last.update, update):
            last.update = _joined(last.update, update)
        else:
            last = _Waiting(update, due)
            self._waiting.append(last)
        # Cutting costs a pass over the text: not for each line of a flood.
        if len(last.update.data["text"]) > 2 * self._output_bytes:
            last.update = self._bounded(last.update)

    def _bounded(self, update: Update) -> Update:
        """The newest part of what a call printed; its offset tells what is passed over."""
        if update.type != "tool_output":
            return update
        text = update.data["text"]
        kept = last_bytes(text, self._output_bytes)
        return _with_text(update, update.data["offset_scalars"] + len(text) - len(kept), kept)

    def _supersede(self, update: Update) -> None:
        if update.type != "tool_progress":
            return
        progress = update.data["progress"]
        if progress is None:
            self.discard("tool_progress")
        else:
            call_id = progress["call_id"]
            self._waiting = [waiting for waiting in self._waiting if waiting.call_id != call_id]

    def _publish(self, count: int) -> list[Update]:
        published = [self._bounded(waiting.update) for waiting in self._waiting[:count]]
        del self._waiting[:count]
        return published


def _continues(before: Update, after: Update) -> bool:
    """Whether `after` is the next text of the same part."""
    if before.type != after.type:
        return False
    text = before.data["text"]
    return {**before.data, "offset_scalars": before.data["offset_scalars"] + len(text)} == {
        **after.data,
        "text": text,
    }


def _joined(before: Update, after: Update) -> Update:
    return _with_text(before, before.data["offset_scalars"], before.data["text"] + after.data["text"])


def _with_text(update: Update, offset_scalars: int, text: str) -> Update:
    return Update(update.type, {**update.data, "offset_scalars": offset_scalars, "text": text})
