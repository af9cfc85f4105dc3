"""Tells whoever started this process that it is ready, as systemd's services do (`Type=notify`)."""

from __future__ import annotations

import logging
import socket

from django.conf import settings

READY = b"READY=1"

log = logging.getLogger(__name__)


def tell(state: bytes) -> None:
    """One datagram to `settings.NOTIFY_SOCKET` (a path, or `@` and an abstract name), where there is one."""
    address: str = settings.NOTIFY_SOCKET
    if not address:
        return
    target = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(state, target)
    except OSError as error:
        # Whoever waits for it gives up by its own time.
        log.warning("the start could not be told to NOTIFY_SOCKET: %s", error.strerror)
