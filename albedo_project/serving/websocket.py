"""WebSockets whose sends wait for the socket, refused over HTTP, with little room for what clients send."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import reactor as _reactor

from albedo_project.serving.gate import Gate
from albedo_project.serving.limits import ServerLimits

reactor: Any = _reactor
DENIAL = "websocket.http.response"
# The application answers the first message with a close; what a client pours in until then is dropped.
MESSAGES_KEPT = 4


class GatedProtocol(WebSocketProtocol):  # type: ignore[misc]
    """One socket; `gate` is closed while its buffer is full."""

    def connectionMade(self) -> None:
        self.gate = Gate()
        self._asked_at = reactor.seconds()
        self._denial: dict[str, Any] | None = None
        self._messages = 0
        self._frames = 0
        # The HTTP channel that this connection began as is still registered.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self.gate, True)
        super().connectionMade()

    def connectionLost(self, reason: Any) -> None:
        self.gate.stopProducing()
        self.factory.server_class.crowd.leave(self.transport)
        super().connectionLost(reason)

    def check_timeouts(self) -> None:
        """Called every other second: asks whether anybody is there, one question at a time."""
        silent = reactor.seconds() - self._asked_at
        if self.state == self.STATE_OPEN and not self.autoPingPending and silent >= self.server.ping_interval:
            self._ask()

    def onAutoPingTimeout(self) -> None:
        """An answer comes behind all that the peer has yet to read: one that takes some of it is there."""
        if self.gate.moved_at > self._asked_at:
            self._ask()
        else:
            super().onAutoPingTimeout()

    def onMessageBegin(self, isBinary: bool) -> None:
        self._frames = 0
        super().onMessageBegin(isBinary)

    def onMessageFrameBegin(self, length: int) -> None:
        self._frames += 1
        super().onMessageFrameBegin(length)
        limits: ServerLimits = self.factory.limits
        if self.failedByMe:
            return
        if self.message_data_total_length > limits.frame_bytes or self._frames > limits.fragments:
            self.wasMaxMessagePayloadSizeExceeded = True
            self._max_message_size_exceeded(
                self.message_data_total_length,
                limits.frame_bytes,
                "a message too large, or in too many pieces",
            )

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        self._messages += 1
        if self._messages <= MESSAGES_KEPT:
            super().onMessage(payload, isBinary)

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        # A handshake that failed before the application was asked has nobody to tell.
        if hasattr(self, "server"):
            super().onClose(wasClean, code, reason)

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == f"{DENIAL}.start":
            self._denial = message
        elif message["type"] == f"{DENIAL}.body":
            self._deny(message.get("body", b""))
        else:
            super().handle_reply(message)

    def serverClose(self, code: int | None = None) -> None:
        # The public way refuses 1011 and 1012, which are a server's own to send.
        self.sendCloseFrame(code=1000 if code is None else code)

    def abort(self) -> None:
        """Drop the connection without waiting for what it has not taken."""
        self.transport.abortConnection()

    def _ask(self) -> None:
        self._asked_at = reactor.seconds()
        self._sendAutoPing()

    def _deny(self, body: bytes) -> None:
        if self._denial is None or self.state != self.STATE_CONNECTING:
            raise ValueError("a handshake is denied once, with a start, before it is accepted")
        status = HTTPStatus(self._denial["status"])
        lines = [f"HTTP/1.1 {int(status)} {status.phrase}".encode()]
        lines += [name + b": " + value for name, value in self._denial["headers"]]
        lines += [b"connection: close", b"", body]
        self.sendData(b"\r\n".join(lines))
        del self.handshake_deferred
        self.wasClean = True
        self.dropConnection(abort=False)


class GatedFactory(WebSocketFactory):  # type: ignore[misc]
    protocol = GatedProtocol

    def __init__(self, server: Any, limits: ServerLimits) -> None:
        # An empty name keeps the product's version out of the handshake.
        super().__init__(server, server="")
        self.limits = limits
        self.setProtocolOptions(
            allowNullOrigin=True,
            # A close frame tells the client why; the connection goes after it all the same.
            failByDrop=False,
            openHandshakeTimeout=limits.handshake_seconds,
            closeHandshakeTimeout=limits.close_seconds,
            autoPingTimeout=limits.send_seconds,
            # Autobahn would hold its own bounds against what is sent, too; ours are taken in the protocol.
            maxMessagePayloadSize=0,
            maxFramePayloadSize=0,
        )
