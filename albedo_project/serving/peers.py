"""What the kernel does for a connection: how much it holds for its peer, and when it gives that up."""

from __future__ import annotations

import socket
from typing import Any

from albedo_project.serving.limits import KIB, ServerLimits

# The kernel doubles what it is told, and one message lies in our own buffer besides.
BUFFER_SHARE = 4
# What of that waits in the process itself before senders are held: the kernel's buffer keeps the line busy.
OWN_BUFFER_BYTES = 16 * KIB
INTERNET = (socket.AF_INET, socket.AF_INET6)


def bound_peer(connection: Any, limits: ServerLimits) -> None:
    """Bound what a socket's peer may cost. Anything but a TCP socket is left as it is.

    A peer that is cut off, or whose window stays shut, takes nothing and says nothing: small keepalives would
    fill no buffer for hours, and without pings nobody would notice. The kernel does, after `peer_seconds`.
    """
    if getattr(connection, "family", None) not in INTERNET:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.socket_buffer_bytes // BUFFER_SHARE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.peer_seconds * 1_000))
