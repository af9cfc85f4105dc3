"""Free ports on loopback."""

from __future__ import annotations

import contextlib
import random
import socket

HOST = "127.0.0.1"
# Below what the system gives to outgoing connections: one of those could take a port between its choice and
# its use, or while its process is started again.
FIRST, LAST = 10_240, 32_000
TRIES = 200


def is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as listener:
        # As servers do it: a port is free though old connections of it are still fading away.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
        return True


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on. Raises OSError."""
    found: set[int] = set()
    for _ in range(TRIES):
        if len(found) == count:
            return sorted(found)
        port = random.randint(FIRST, LAST)
        if port not in found and is_free(port):
            found.add(port)
    raise OSError("no free port was found")
