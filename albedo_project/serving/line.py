"""The connection below an ASGI application, under a server that is not ours.

ASGI has no word for it, and uvicorn waits without end for a peer that does not read: with a response, with a
close frame, and with its own shutdown. Its `send` is a method of what holds the transport, which is reached
for here. Where a server keeps it out of reach all of this does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from albedo_project.serving.limits import ServerLimits
from albedo_project.serving.peers import OWN_BUFFER_BYTES, bound_peer

LAST = ("websocket.close", "http.response.body")


class Line:
    """One connection while something is asked of it."""

    def __init__(self, send: Any, limits: ServerLimits) -> None:
        self._send = send
        self._limits = limits
        transport = getattr(getattr(send, "__self__", None), "transport", None)
        self._transport: Any = transport if hasattr(transport, "get_write_buffer_size") else None
        if self._transport is not None:
            bound_peer(self._transport.get_extra_info("socket"), limits)
            self._transport.set_write_buffer_limits(high=OWN_BUFFER_BYTES)

    async def send(self, message: dict[str, Any]) -> None:
        """For streams: the last message does not wait; what is unread then has `close_seconds`."""
        last = message["type"] in LAST and not message.get("more_body", False)
        if last and self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.get_protocol().resume_writing()
            asyncio.get_running_loop().call_later(self._limits.close_seconds, self._cut_unread)
        await self._send(message)

    def cut(self) -> None:
        """Drop the connection without waiting for anything."""
        if self._transport is not None:
            self._transport.abort()

    def _cut_unread(self) -> None:
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.abort()


class Lines:
    """Those of a process that something is being asked of."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._open: set[Line] = set()

    @contextmanager
    def line(self, send: Any) -> Iterator[Line]:
        made = Line(send, self._limits)
        self._open.add(made)
        try:
            yield made
        finally:
            self._open.discard(made)

    def cut_late(self) -> None:
        """What is still being answered after `drain_seconds` is cut: whoever waits for it waits no longer."""
        asyncio.get_running_loop().call_later(self._limits.drain_seconds, self._cut_all)

    def _cut_all(self) -> None:
        for line in list(self._open):
            line.cut()
