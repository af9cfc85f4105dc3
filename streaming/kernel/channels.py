"""The server's sockets to one kernel: read at all times, bounded, and handed to whoever asked.

zmq types never leave this file. A message that answers nothing that is being waited for is dropped here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import zmq
import zmq.asyncio

from streaming.kernel.wire import Message, decode, encode, new_message_id

Channel = Literal["shell", "iopub"]
Handler = Callable[[Channel, Message], None]

SHELL_PORT, IOPUB_PORT = 1, 2
# Messages, each up to `message_bytes`, that may wait in the socket.
QUEUED_MESSAGES = 8
RECONNECT_MS = 10


class Channels:
    """Shell and iopub of one kernel. All methods are called on the loop that made it."""

    def __init__(self, context: zmq.asyncio.Context, folder: Path, key: bytes, message_bytes: int) -> None:
        self._key = key
        self._handlers: dict[str, Handler] = {}
        self.received = 0
        """Messages seen on iopub so far, dropped ones too."""
        self._shell = self._socket(context, zmq.DEALER, message_bytes)
        self._iopub = self._socket(context, zmq.SUB, message_bytes)
        self._shell.setsockopt(zmq.IDENTITY, new_message_id().encode())
        self._iopub.setsockopt(zmq.SUBSCRIBE, b"")
        self._shell.connect(f"ipc://{folder}/s-{SHELL_PORT}")
        self._iopub.connect(f"ipc://{folder}/s-{IOPUB_PORT}")
        self._readers = [
            asyncio.create_task(self._read(self._shell, "shell")),
            asyncio.create_task(self._read(self._iopub, "iopub")),
        ]

    def send(self, kind: str, content: Mapping[str, Any], handler: Handler) -> str:
        """Send a request; `handler` gets what answers it until `forget`. Gives the request's id."""
        message_id = new_message_id()
        self._handlers[message_id] = handler
        frames = encode(self._key, kind, message_id, content)
        # Never waits: a kernel that does not read is seen by who waits for its answer.
        sent = asyncio.ensure_future(self._shell.send_multipart(frames, zmq.DONTWAIT))
        sent.add_done_callback(lambda future: future.cancelled() or future.exception())
        return message_id

    def forget(self, message_id: str) -> None:
        self._handlers.pop(message_id, None)

    def close(self) -> None:
        for reader in self._readers:
            reader.cancel()
        self._handlers.clear()
        self._shell.close(linger=0)
        self._iopub.close(linger=0)

    def _socket(self, context: zmq.asyncio.Context, kind: int, message_bytes: int) -> zmq.asyncio.Socket:
        socket = context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.MAXMSGSIZE, message_bytes)
        socket.setsockopt(zmq.RCVHWM, QUEUED_MESSAGES)
        socket.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MS)
        return socket

    async def _read(self, socket: zmq.asyncio.Socket, channel: Channel) -> None:
        while True:
            frames = await socket.recv_multipart()
            if channel == "iopub":
                self.received += 1
            self._deliver(channel, frames)
            # A receive that is ready does not yield: a flood would hold the loop.
            await asyncio.sleep(0)

    def _deliver(self, channel: Channel, frames: list[bytes]) -> None:
        message = decode(self._key, frames, self._handlers.__contains__)
        if message is not None:
            self._handlers[message.parent_id](channel, message)
