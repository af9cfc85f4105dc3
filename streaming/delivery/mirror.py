"""The newest batches of one session as this process received them: shared texts, bounded, without a gap.

Pure. It is a fast path and never the only copy: where it cannot say what follows a position it says BEHIND,
and the subscriber reads a page from the actor.
"""

from __future__ import annotations

import sys
from collections import deque
from enum import Enum

from streaming.feed.batch import Batch


class Next(Enum):
    """What stands behind a position, where it is not a batch."""

    NOTHING = "nothing"
    BEHIND = "behind"


class Mirror:
    """Batches of one generation, consecutive; `newest` is the greatest sequence that anybody told of."""

    def __init__(self, max_batches: int, max_bytes: int) -> None:
        self._max_batches = max_batches
        self._max_bytes = max_bytes
        self._batches: deque[Batch] = deque()
        self._by_first: dict[int, Batch] = {}
        self._size_bytes = 0
        self.generation: str | None = None
        self.newest = 0

    @property
    def size_bytes(self) -> int:
        """What the kept texts take in memory."""
        return self._size_bytes

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, received: Batch) -> bool:
        """Keep a batch; whether subscribers have reason to look. Repeated and late ones change nothing."""
        if not self._enter(received.generation):
            return False
        last_kept = self._batches[-1].last if self._batches else None
        self.newest = max(self.newest, received.last)
        if not received.text or (last_kept is not None and received.first <= last_kept):
            return True
        if last_kept is not None and received.first > last_kept + 1:
            self._clear()
        self._keep(received)
        return True

    def learn(self, generation: str, newest: int) -> bool:
        """Take in what an actor said of itself; whether that was news."""
        known = (self.generation, self.newest)
        if self._enter(generation):
            self.newest = max(self.newest, newest)
        return known != (self.generation, self.newest)

    def lags(self, generation: str, newest: int) -> bool:
        """Whether `learn` would be news that no batch brought."""
        return not _older(generation, self.generation) and (
            generation != self.generation or newest > self.newest
        )

    def next(self, generation: str, sequence: int) -> Batch | Next:
        """What a subscriber at this position gets next."""
        if self.generation is None:
            return Next.NOTHING
        if generation != self.generation:
            return Next.NOTHING if _older(self.generation, generation) else Next.BEHIND
        if (found := self._by_first.get(sequence + 1)) is not None:
            return found
        return Next.BEHIND if sequence < self.newest else Next.NOTHING

    def _enter(self, generation: str) -> bool:
        """Whether this generation counts; a newer one ends the one before."""
        if _older(generation, self.generation):
            return False
        if generation != self.generation:
            self._clear()
            self.generation, self.newest = generation, 0
        return True

    def _keep(self, received: Batch) -> None:
        self._batches.append(received)
        self._by_first[received.first] = received
        self._size_bytes += sys.getsizeof(received.text)
        while len(self._batches) > self._max_batches or self._size_bytes > self._max_bytes:
            gone = self._batches.popleft()
            del self._by_first[gone.first]
            self._size_bytes -= sys.getsizeof(gone.text)

    def _clear(self) -> None:
        self._batches.clear()
        self._by_first.clear()
        self._size_bytes = 0


def _older(generation: str, than: str | None) -> bool:
    """Public generations begin with a number that only grows; a late message of a former actor is older."""
    return than is not None and _number(generation) < _number(than)


def _number(generation: str) -> int:
    head = generation.partition("-")[0]
    return int(head) if head.isdecimal() else -1
