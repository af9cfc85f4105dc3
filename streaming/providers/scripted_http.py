"""One connection of the scripted provider: HTTP/1.1 requests in, whatever the script says out."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import h11

from streaming.providers.scripted_parts import sse
from streaming.providers.scripted_signal import Barrier, Signal

MAX_BODY_BYTES = 64 * 1024 * 1024
_READ_BYTES = 64 * 1024


@dataclass(slots=True)
class ScriptedRequest:
    """A request as it arrived. `closed` is set when the client's side of the connection is gone."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    raw: bytes = field(repr=False)
    closed: Signal = field(default_factory=Signal, repr=False)

    @property
    def body(self) -> Any:
        """The parsed JSON body; None where it is none."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    @property
    def protocol(self) -> str:
        return "responses" if self.path.partition("?")[0].endswith("/responses") else "chat_completions"

    @property
    def wants_stream(self) -> bool:
        body = self.body
        return isinstance(body, Mapping) and body.get("stream") is True


class Out:
    """The answer to one request. Each `write` is one socket write; the head goes out with the first."""

    def __init__(self, connection: h11.Connection, writer: asyncio.StreamWriter) -> None:
        self._connection = connection
        self._writer = writer
        self._status = 200
        self._headers = {"content-type": "text/event-stream"}
        self._started = False
        self.ended = False

    def status(self, code: int, headers: Mapping[str, str] | None = None) -> None:
        """To be called before the first write. Without `headers` it is an event stream."""
        self._status = code
        if headers is not None:
            self._headers = dict(headers)

    async def start(self) -> None:
        """Sends the head alone, for a server that lets the body wait."""
        await self._send(b"")

    async def write(self, data: bytes | str) -> None:
        await self._send(data.encode() if isinstance(data, str) else data)

    async def event(self, data: Mapping[str, Any], name: str = "") -> None:
        await self.write(sse(data, name))

    async def pause(self, barrier: Barrier) -> None:
        await barrier.hold()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def json(
        self, code: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole JSON answer."""
        self.status(code, {"content-type": "application/json", **(headers or {})})
        await self.write(json.dumps(body))
        await self.end()

    def abort(self) -> None:
        """A TCP reset."""
        self.ended = True
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def end(self) -> None:
        """The regular end of the body; a script that returns has it done for it."""
        if self.ended:
            return
        head = self._head()
        self.ended = True
        self._writer.write(head + (self._connection.send(h11.EndOfMessage()) or b""))
        await self._writer.drain()

    def cut(self) -> None:
        """The connection ends in the middle of the body, without a reset."""
        self.ended = True
        self._writer.close()

    async def _send(self, data: bytes) -> None:
        head = self._head()
        body = self._connection.send(h11.Data(data=data)) or b"" if data else b""
        self._writer.write(head + body)
        await self._writer.drain()

    def _head(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        headers = [(name, value) for name, value in self._headers.items()]
        response = h11.Response(status_code=self._status, headers=headers, reason=b"Scripted")
        return self._connection.send(response) or b""


Script = Callable[[ScriptedRequest, Out], Awaitable[None]]


class ScriptedConnection:
    """Serves one socket until the client leaves or a script breaks it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        script: Script,
        seen: Callable[[ScriptedRequest], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._script = script
        self._seen = seen
        self._connection = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        # Else `drain` returns while bytes still wait here, and an abort would lose them.
        self._writer.transport.set_write_buffer_limits(0)
        try:
            while (request := await self._request()) is not None:
                self._seen(request)
                if not await self._answer(request):
                    return
        except (ConnectionError, h11.ProtocolError):
            pass
        finally:
            self._writer.close()

    async def _request(self) -> ScriptedRequest | None:
        """The next request of this connection, None at its end."""
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                self._connection.receive_data(await self._reader.read(_READ_BYTES))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_BODY_BYTES:
                    return None
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, bytes(body))
            else:
                return None

    async def _answer(self, request: ScriptedRequest) -> bool:
        """True where the connection can carry another request."""
        out = Out(self._connection, self._writer)
        watch = asyncio.create_task(self._watch(request))
        try:
            await self._script(request, out)
            await out.end()
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        if self._connection.our_state is not h11.DONE or self._connection.their_state is not h11.DONE:
            return False
        self._connection.start_next_cycle()
        return True

    async def _watch(self, request: ScriptedRequest) -> None:
        """Tells when the client is gone. Bytes that come here belong to its next request."""
        try:
            data = await self._reader.read(_READ_BYTES)
        except ConnectionError:
            data = b""
        if data:
            self._connection.receive_data(data)
        else:
            request.closed.set()


def _request(head: h11.Request, body: bytes) -> ScriptedRequest:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return ScriptedRequest(head.method.decode(), head.target.decode("latin-1"), headers, body)
