"""What a connection may cost before and while it is served."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.conf import settings

KIB = 1024
_INPUTS = re.compile(rb"/api/sessions/[^/?]+/inputs(/[^/?]*)?(\?.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Contract section 2 for bodies, section 5 for sockets; deadlines keep connections from piling up."""

    body_bytes: int = 64 * KIB
    input_bytes: int = 9_000_000
    # A client may only be silent: what it sends is refused, so a frame needs no room.
    frame_bytes: int = 64 * KIB
    # Frames of one message; an honest client has no reason to cut a small message.
    fragments: int = 64
    header_seconds: float = 10.0
    # Of which the client's part is its header: the rest is for those who wait for their turn to attach.
    handshake_seconds: float = 60.0
    body_seconds: float = 20.0
    # Beyond body_seconds a body must have come at this rate at least.
    body_bytes_per_second: int = 32 * KIB
    idle_seconds: float = 60.0
    # A socket that is silent for so long is asked whether anybody is there; it has `send_seconds` to answer.
    ping_seconds: float = 20.0
    send_seconds: float = 30.0
    # Beside the streams, which have a cap of their own, there is room for requests.
    connections: int = 12_000
    socket_buffer_bytes: int = 1024 * KIB
    # A peer that acknowledges nothing for so long is gone.
    peer_seconds: float = 45.0
    close_seconds: float = 2.0
    # A draining server still accepts connections for so long: balancers are to read that it drains.
    listen_seconds: float = 0.5
    # Under another server than ours: what is still being answered this long after SIGTERM is cut.
    drain_seconds: float = 10.0

    def body_limit(self, method: bytes, target: bytes) -> int:
        """The largest body of a request, by its request line."""
        takes_input = method in (b"POST", b"PUT") and _INPUTS.fullmatch(target) is not None
        return self.input_bytes if takes_input else self.body_bytes


def server_limits() -> ServerLimits:
    """The limits as the operator set them."""
    tunables = settings.ALBEDO
    return ServerLimits(
        body_bytes=int(tunables["body_bytes"]),
        input_bytes=int(tunables["input_bytes"]),
        listen_seconds=float(tunables["drain_listen_seconds"]),
        close_seconds=float(tunables["server_close_seconds"]),
        connections=int(tunables["server_connections"]),
        send_seconds=float(tunables["delivery_send_seconds"]),
        socket_buffer_bytes=int(tunables["delivery_socket_buffer_bytes"]),
        peer_seconds=float(tunables["delivery_peer_seconds"]),
        drain_seconds=float(tunables["actor_drain_seconds"]),
    )
