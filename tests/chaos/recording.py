"""What clients and readers of a rig did and saw, collected from all their threads."""

from __future__ import annotations

import threading
import time

from tests.chaos.history import Kind, Operation, Outcome, Reading


class Recording:
    """Operations and readings so far. Any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.operations: list[Operation] = []
        self.readings: list[Reading] = []

    def operation(
        self,
        kind: Kind,
        session: str,
        invoked: float,
        outcome: Outcome,
        *,
        input_id: str = "",
        order: int | None = None,
        targets: tuple[str, ...] | None = None,
    ) -> None:
        """Ended now."""
        ended = time.monotonic()
        done = Operation(kind, session, invoked, ended, outcome, input_id, order, targets)
        with self._lock:
            self.operations.append(done)

    def reading(self, reader: str, session: str) -> Reading:
        made = Reading(reader, session)
        with self._lock:
            self.readings.append(made)
        return made
