"""How many connections a process has at a time, and that there are no more."""

from __future__ import annotations

import resource

# Of the files of a process: database, kernels, providers and logs must not fail because of who is connected.
KEPT = 64
# Beyond the cap so many more are told why; further ones are dropped without a word.
TOLD = 64


def room_for(connections: int) -> int:
    """As many of `connections` as the limit on open files leaves room for; at least one."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, soft - max(KEPT, soft // 4)))


class Crowd:
    """Connections by their transports, since one may change its protocol on the way."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: set[object] = set()

    def __len__(self) -> int:
        return len(self._inside)

    @property
    def is_flooded(self) -> bool:
        return len(self._inside) > self._most + TOLD

    def enter(self, transport: object) -> bool:
        """Whether there is room for it; it is counted in any case, until it leaves."""
        self._inside.add(transport)
        return len(self._inside) <= self._most

    def leave(self, transport: object) -> None:
        """Idempotent."""
        self._inside.discard(transport)
