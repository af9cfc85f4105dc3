"""A kernel's side of the sockets, played by a test."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio

from streaming.kernel.channels import IOPUB_PORT, SHELL_PORT
from streaming.kernel.wire import encode
from tests.integration.kernel.support import SECONDS

KEY = b"key"


class Peer:
    """A ROUTER for shell and an XPUB for iopub, that say what they are told to."""

    def __init__(self, context: zmq.asyncio.Context, folder: Path) -> None:
        self.shell = context.socket(zmq.ROUTER)
        self.iopub = context.socket(zmq.XPUB)
        self.shell.bind(f"ipc://{folder}/s-{SHELL_PORT}")
        self.iopub.bind(f"ipc://{folder}/s-{IOPUB_PORT}")
        self._identity = b""

    async def subscribed(self) -> None:
        assert await asyncio.wait_for(self.iopub.recv(), SECONDS) == b"\x01"

    async def asked(self, kind: str) -> str:
        """The id of the next request, which must be of this kind."""
        self._identity, _, _, header, *_ = await asyncio.wait_for(self.shell.recv_multipart(), SECONDS)
        told = json.loads(header)
        assert told["msg_type"] == kind
        return str(told["msg_id"])

    async def say(self, parent_id: str, kind: str, **content: Any) -> None:
        await self.iopub.send_multipart(answer(kind, parent_id, content))

    async def idle(self, parent_id: str) -> None:
        await self.say(parent_id, "status", execution_state="idle")

    async def reply(self, parent_id: str, **content: Any) -> None:
        await self.shell.send_multipart([self._identity, *answer("execute_reply", parent_id, content)])

    def close(self) -> None:
        self.shell.close(linger=0)
        self.iopub.close(linger=0)


def answer(kind: str, parent_id: str, content: dict[str, Any]) -> list[bytes]:
    frames = encode(KEY, kind, "x", content)
    frames[3] = json.dumps({"msg_id": parent_id}).encode()
    frames[1] = hmac.new(KEY, b"".join(frames[2:]), hashlib.sha256).hexdigest().encode()
    return frames
