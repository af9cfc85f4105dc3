"""A subscriber below any library: it reads when it is told to, and not a byte before."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any, Literal, Self
from urllib.parse import urlencode, urlsplit

import h11
import orjson
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

Transport = Literal["websocket", "sse"]
TRANSPORTS: tuple[Transport, ...] = ("websocket", "sse")
Cursor = tuple[str, int]
SMALL_BUFFER = 4_096
PATIENCE_SECONDS = 60.0


class RawReader:
    """A stream of one session, attached when made. `batches` has what was read, `end` how it ended."""

    def __init__(
        self,
        url: str,
        session_id: str,
        token: str,
        transport: Transport,
        cursor: Cursor | None = None,
        *,
        small: bool = True,
    ) -> None:
        parts = urlsplit(url)
        self._host = f"{parts.hostname}:{parts.port}"
        self.batches: list[dict[str, Any]] = []
        self.close_code: int | None = None
        self.status = 0
        self.retry_ms: list[int] = []
        self.end: Literal["", "closed", "reset"] = ""
        self.socket = socket.socket()
        if small:
            # The window that is offered to the server; it must be told before there is a connection.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.connect((parts.hostname, parts.port))
        asked = {} if cursor is None else {"after_generation": cursor[0], "after_seq": cursor[1]}
        query = f"?{urlencode(asked)}" if asked else ""
        kind = _WebSocket if transport == "websocket" else _Sse
        self._wire: _WebSocket | _Sse = kind(self, session_id, query, token)
        while not self.status:
            self.step()

    @property
    def host(self) -> str:
        return self._host

    @property
    def port(self) -> int:
        """Its own."""
        return int(self.socket.getsockname()[1])

    @property
    def cursor(self) -> Cursor | None:
        """That of the last batch read."""
        return (self.batches[-1]["generation"], self.batches[-1]["cursor"]) if self.batches else None

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for batch in self.batches for event in batch["events"]]

    def step(self, size: int = 65_536) -> bool:
        """Read once; whether there was anything."""
        try:
            data = self.socket.recv(size)
        except ConnectionResetError:
            self.end = "reset"
            return False
        if not data:
            self.end = "closed"
            return False
        self._wire.feed(data)
        return True

    def until_batches(self, count: int) -> RawReader:
        """Read at least `count` batches, or to the end."""
        while len(self.batches) < count and self.step():
            pass
        return self

    def up_to(self, newest: int) -> RawReader:
        """Read to the batch that ends with the event `newest`, or to the end."""
        while (not self.batches or self.batches[-1]["cursor"] < newest) and self.step():
            pass
        return self

    def up_to_answer(self, input_id: str) -> RawReader:
        """Read until the turn that answers an input is completed, or to the end."""
        seen = 0
        while not any(input_id in _inputs_of(batch) for batch in self.batches[seen:]):
            seen = len(self.batches)
            if not self.step():
                break
        return self

    def read_on(self) -> RawReader:
        """Read to the end of the connection."""
        while self.step():
            pass
        return self

    def hang_up(self) -> None:
        """End the connection; who reads it in another thread finds its end."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _inputs_of(batch: dict[str, Any]) -> list[str]:
    ended = [event for event in batch["events"] if event["type"] == "turn_completed"]
    return [input_id for event in ended for input_id in event["data"]["input_ids"]]


class _WebSocket:
    def __init__(self, reader: RawReader, session_id: str, query: str, token: str) -> None:
        self._reader = reader
        uri = parse_uri(f"ws://{reader.host}/ws/sessions/{session_id}{query}")
        self._protocol = ClientProtocol(uri, subprotocols=["albedo.v1"], max_size=None)  # type: ignore[list-item]
        request = self._protocol.connect()
        request.headers["Authorization"] = f"Bearer {token}"
        self._protocol.send_request(request)
        self._text = b""
        self._answer()

    def feed(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._take(event)
            else:
                self._reader.status = event.status_code  # type: ignore[union-attr]
        refused = self._protocol.handshake_exc
        if isinstance(refused, InvalidStatus):
            self._reader.status = refused.response.status_code
        self._answer()

    def _take(self, frame: Frame) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.CONT):
            self._text += bytes(frame.data)
            if frame.fin:
                self._reader.batches.append(orjson.loads(self._text))
                self._text = b""
        if frame.opcode is Opcode.CLOSE and self._protocol.close_rcvd is not None:
            self._reader.close_code = int(self._protocol.close_rcvd.code)

    def _answer(self) -> None:
        for data in self._protocol.data_to_send():
            try:
                self._reader.socket.sendall(data)
            except OSError:
                # The other side has gone; what it sent before is still read.
                return


class _Sse:
    def __init__(self, reader: RawReader, session_id: str, query: str, token: str) -> None:
        self._reader = reader
        self._connection = h11.Connection(h11.CLIENT)
        self._unread = b""
        headers = {
            "Host": reader.host,
            "Authorization": f"Bearer {token}",
            "Accept": "text/event-stream",
        }
        target = f"/api/sessions/{session_id}{query}"
        request = h11.Request(method="GET", target=target, headers=list(headers.items()))
        asked = (self._connection.send(request) or b"") + (self._connection.send(h11.EndOfMessage()) or b"")
        reader.socket.sendall(asked)

    def feed(self, data: bytes) -> None:
        self._connection.receive_data(data)
        while (event := self._connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Response):
                self._reader.status = event.status_code
            elif isinstance(event, h11.Data):
                self._unread += bytes(event.data)
                *whole, self._unread = self._unread.split(b"\n\n")
                for message in whole:
                    self._take(message)
            else:
                return

    def _take(self, message: bytes) -> None:
        for line in message.splitlines():
            name, _, value = line.partition(b": ")
            if name == b"retry":
                self._reader.retry_ms.append(int(value))
            if name == b"data":
                self._reader.batches.append(orjson.loads(value))
