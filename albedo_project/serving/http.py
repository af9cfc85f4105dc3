"""HTTP with limits taken as bytes arrive, deadlines for slow clients, responses that wait for the socket."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from io import BytesIO
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.internet import reactor as _reactor
from twisted.web import http

from albedo_project.serving.crowd import Crowd
from albedo_project.serving.gate import Gate
from albedo_project.serving.limits import ServerLimits
from albedo_project.serving.peers import OWN_BUFFER_BYTES, bound_peer

reactor: Any = _reactor
# Twisted says no types for it.
logger = logging.getLogger(__name__)
HTTPChannel: Any = http.HTTPChannel

# A client may still be sending when it is refused, and many look for the answer only after their whole body.
# Closing at once would take it from them: this much more is taken and thrown away, for so long. It has room
# for an input with a picture that is a little too large; who sends without end is cut off.
LINGER_SECONDS = 3.0
LINGER_BYTES = 16 * 1024 * 1024
ORIGIN = b"origin:"
RETRY = "Retry-After: 5"


class LimitedRequest(WebRequest):  # type: ignore[misc]
    """A request whose response passes the gate."""

    gate: Gate | None = None
    body_received = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # A body is the application's, which asks first who sends it.
        super().__init__(*args, **kwargs, parsePOSTFormSubmission=False)

    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()
        with self._room_for_body():
            super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        self.body_received += len(data)
        if self.channel is not None and self.channel.body_grew(self.body_received):
            with self._room_for_body():
                super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        kept = False
        with self._room_for_body():
            # What is buffered of a large body is written only now.
            self.content.flush()
            kept = True
        if kept:
            super().requestReceived(command, path, version)

    @contextmanager
    def _room_for_body(self) -> Iterator[None]:
        """Large bodies go to a temporary file, whose disk may be full."""
        try:
            yield
        except OSError as error:
            logger.warning("a request's body cannot be kept: %s", error.strerror)
            if self.channel is not None:
                self.channel.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "storage_full")

    def process(self) -> Any:
        # A front server sets this header; from a client it would move the whole site.
        self.requestHeaders.removeHeader(b"daphne-root-path")
        return super().process()

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start" and self.gate is None and self.channel is not None:
            self.gate = Gate()
            self.registerProducer(self.gate, True)
        super().handle_reply(message)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """What daphne says of a request that it cannot pass on; its own page is no problem."""
        code = "invalid_request" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal_error"
        headers = [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")]
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": _problem(HTTPStatus(status), code)})

    def finish(self) -> None:
        self._release()
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        if self.gate is not None:
            self.gate.stopProducing()
        super().connectionLost(reason)

    def abort(self) -> None:
        """Drop the connection without waiting for what it has not taken."""
        if self.channel is not None:
            self.channel.abortConnection()

    def _release(self) -> None:
        if self.gate is not None and self.producer is not None:
            self.unregisterProducer()
            self.gate.stopProducing()


class LimitedChannel(HTTPChannel):  # type: ignore[misc]
    """One connection. The first thing over a limit is answered, and nothing after it is read."""

    requestFactory = LimitedRequest
    limits: ServerLimits
    crowd: Crowd
    _deadline: Any = None
    _refused = False
    _discarded = 0
    _body_limit = 0
    _body_began = 0.0

    def connectionMade(self) -> None:
        super().connectionMade()
        if not self.crowd.enter(self.transport):
            self._turn_away()
            return
        bound_peer(self.transport.getHandle(), self.limits)
        self.transport.bufferSize = OWN_BUFFER_BYTES
        self._expect(self.limits.header_seconds)

    def dataReceived(self, data: bytes) -> None:
        if self._refused:
            self._discard(len(data))
            return
        if self._deadline is None and not self._handlingRequest:
            self._expect(self.limits.header_seconds)
        super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:
        # What was read together with a refused line is still given out, line for line.
        if self._refused:
            return
        try:
            super().lineReceived(line)
        except ValueError:
            # A length of more digits than Python makes a number of.
            self._respondToBadRequestAndDisconnect()

    def lineLengthExceeded(self, line: bytes) -> None:
        if line[: len(ORIGIN)].lower() == ORIGIN:
            # Malformed like any other that names no origin: one answer for all of them.
            self.refuse(HTTPStatus.BAD_REQUEST, "invalid_request")
            return
        self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large")

    def _respondToBadRequestAndDisconnect(self) -> None:
        self.refuse(HTTPStatus.BAD_REQUEST, "invalid_request")

    def allHeadersReceived(self) -> None:
        self._body_limit = self.limits.body_limit(self._command, self._path)
        if self.length is not None and self.length > self._body_limit:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
            return
        super().allHeadersReceived()
        self._body_began = reactor.seconds()
        self._expect(self.limits.body_seconds)

    def allContentReceived(self) -> None:
        self._expect(None)
        if not self._refused:
            super().allContentReceived()

    def rawDataReceived(self, data: bytes) -> None:
        if not self._refused:
            super().rawDataReceived(data)

    def connectionLost(self, reason: Any = None) -> None:
        self._expect(None)
        self.crowd.leave(self.transport)
        super().connectionLost(reason)

    def body_grew(self, received: int) -> bool:
        """Whether a body that has come to `received` bytes may still be kept."""
        if self._refused:
            return False
        if received > self._body_limit:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
            return False
        earned = received / self.limits.body_bytes_per_second
        left = self._body_began + self.limits.body_seconds + earned - reactor.seconds()
        self._expect(max(left, 0.0))
        return True

    def refuse(self, status: HTTPStatus, code: str) -> None:
        """Answer with a problem, read nothing more, and close."""
        if self._refused or self.transport is None:
            return
        self._refused = True
        self._expect(None)
        self.transport.write(_refusal(status, code))
        self.setTimeout(None)
        if hasattr(self.transport, "loseWriteConnection"):
            self.transport.loseWriteConnection()
        self._deadline = reactor.callLater(LINGER_SECONDS, self._give_up)

    def abortConnection(self) -> None:
        if self.transport is not None:
            self.transport.abortConnection()

    def _turn_away(self) -> None:
        if self.crowd.is_flooded:
            self.abortConnection()
        else:
            self.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too_many_connections")

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > LINGER_BYTES:
            self.transport.pauseProducing()

    def _expect(self, seconds: float | None) -> None:
        """The rest of the headers or of the body within `seconds`; None ends the expectation."""
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None
        if seconds is not None:
            self._deadline = reactor.callLater(seconds, self._too_late)

    def _too_late(self) -> None:
        self._deadline = None
        self.refuse(HTTPStatus.REQUEST_TIMEOUT, "request_timeout")

    def _give_up(self) -> None:
        self._deadline = None
        self.abortConnection()


class LimitedFactory(HTTPFactory):  # type: ignore[misc]
    """Makes channels with the server's limits."""

    def __init__(self, server: Any, limits: ServerLimits, crowd: Crowd) -> None:
        super().__init__(server)
        self.limits = limits
        self._crowd = crowd
        self.timeOut = limits.idle_seconds

    def buildProtocol(self, addr: Any) -> LimitedChannel:
        channel = LimitedChannel()
        channel.limits = self.limits
        channel.crowd = self._crowd
        channel.factory = self
        channel.callLater = reactor.callLater
        channel.timeOut = self.timeOut
        return channel


def _refusal(status: HTTPStatus, code: str) -> bytes:
    body = _problem(status, code)
    lines = [
        f"HTTP/1.1 {int(status)} {status.phrase}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        *([RETRY] if status == HTTPStatus.SERVICE_UNAVAILABLE else []),
        "Connection: close",
        "\r\n",
    ]
    return "\r\n".join(lines).encode() + body


def _problem(status: HTTPStatus, code: str) -> bytes:
    problem = {
        "type": "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": status.description,
        "code": code,
        "fields": [],
    }
    return json.dumps(problem).encode()
