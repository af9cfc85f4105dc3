"""Close codes of the sockets: an interface of their own, which clients branch on (contract section 5)."""

from __future__ import annotations

from enum import IntEnum


class Close(IntEnum):
    """Why the server closed a WebSocket.

    After FAULT, RESTARTING and TOO_SLOW a client reattaches with its cursor as it is; after the others
    something must change first.
    """

    TOO_BIG = 1009
    FAULT = 1011
    RESTARTING = 1012
    PROTOCOL = 4400
    UNAUTHENTICATED = 4401
    UNKNOWN_SESSION = 4404
    TOO_SLOW = 4408
    TOO_MANY = 4429


class Ended(Exception):
    """A stream that began is over; the code says why."""

    def __init__(self, code: Close) -> None:
        super().__init__(code.name)
        self.code = code
