"""The replay window: a session's newest events, numbered, encoded, bounded by count and by bytes.

Pure and owned by one actor. It never says that nothing is missing where something is: a position that it
cannot continue exactly is judged a reset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from streaming.feed.events import Event, encode_event

Verdict = Literal["replay", "reset", "up_to_date"]
Reason = Literal["initial", "generation_changed", "replay_unavailable"]


@dataclass(frozen=True, slots=True)
class Sequenced:
    """An event that has its number, as its encoded text of `size_bytes` in UTF-8."""

    sequence: int
    text: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Page:
    """Encoded events that follow a position; `cursor` is the last one represented."""

    texts: list[str]
    cursor: int
    more: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a client's position can be continued; only a reset has a reason."""

    verdict: Verdict
    reason: Reason | None


class Window:
    """The newest `max_events` events or `max_bytes` of their encoded text, whichever is less."""

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[Sequenced] = deque()
        self._size_bytes = 0
        self._newest = 0

    @property
    def newest(self) -> int:
        """The last sequence given out, 0 before the first."""
        return self._newest

    @property
    def oldest(self) -> int:
        """The first sequence still held; one more than the newest where none is."""
        return self._newest - len(self._events) + 1

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def __len__(self) -> int:
        return len(self._events)

    def append(self, event: Event) -> Sequenced:
        """Number and encode an event. Raises ValueError, changing nothing, where it cannot be encoded."""
        text = encode_event(event, self._newest + 1)
        self._newest += 1
        held = Sequenced(self._newest, text, len(text.encode()))
        self._events.append(held)
        self._size_bytes += held.size_bytes
        self._evict()
        return held

    def _evict(self) -> None:
        while len(self._events) > self._max_events or self._size_bytes > self._max_bytes:
            self._size_bytes -= self._events.popleft().size_bytes

    def resumable(self, sequence: int) -> bool:
        """Whether every event after `sequence` is still held, and `sequence` was given out."""
        return self.oldest - 1 <= sequence <= self._newest

    def after(self, sequence: int, max_bytes: int) -> Page:
        """The events after a resumable position: as many as `max_bytes` hold, but never none of some."""
        if not self.resumable(sequence):
            raise ValueError(f"{sequence} is outside {self.oldest - 1}..{self._newest}")
        texts: list[str] = []
        budget = max_bytes
        for held in self._from(sequence + 1):
            if texts and held.size_bytes > budget:
                break
            texts.append(held.text)
            budget -= held.size_bytes + 1
        cursor = sequence + len(texts)
        return Page(texts, cursor, more=cursor < self._newest)

    def _from(self, sequence: int) -> Iterator[Sequenced]:
        return islice(self._events, sequence - self.oldest, None)


def judge(
    window: Window,
    generation: str,
    after_generation: str | None,
    after_sequence: int | None,
) -> Judgement:
    """How a position continues in this generation; generations are compared before numbers."""
    if after_generation is None or after_sequence is None:
        return Judgement("reset", "initial")
    if after_generation != generation:
        return Judgement("reset", "generation_changed")
    if not window.resumable(after_sequence):
        return Judgement("reset", "replay_unavailable")
    return Judgement("up_to_date" if after_sequence == window.newest else "replay", None)
