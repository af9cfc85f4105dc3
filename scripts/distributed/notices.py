"""Where a child says that it is ready, as services say it to systemd."""

from __future__ import annotations

import asyncio
import secrets
import socket
from types import TracebackType
from typing import Self

READY = "READY=1"


class Notices:
    """One abstract socket for one start of one process; `address` goes into its NOTIFY_SOCKET."""

    def __init__(self) -> None:
        name = f"albedo-{secrets.token_hex(16)}"
        self.address = f"@{name}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(f"\0{name}")

    async def ready(self) -> None:
        loop = asyncio.get_running_loop()
        while READY not in (await loop.sock_recv(self._socket, 4096)).decode("utf-8", "replace").split("\n"):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
