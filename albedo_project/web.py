"""The web server of `run_web`: uvicorn, behind a proxy that ends TLS and waits for slow headers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from albedo_project.serving.limits import ServerLimits
from streaming.delivery.refusals import App

BACKLOG = 512
# Longer than a proxy keeps an idle connection: it is the one to close, or it would send into a closed one.
KEEP_ALIVE_SECONDS = 90

OnStarted = Callable[[int], None]


class Sockets(WebSocketsSansIOProtocol):
    """One refused before its upgrade has had its answer: uvicorn alone would log an error for each."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True


class WebServer(uvicorn.Server):
    """`on_started(port)` is called when connections are accepted. To drain is the application's part."""

    def __init__(self, config: uvicorn.Config, on_started: OnStarted, listen_seconds: float) -> None:
        super().__init__(config)
        self._on_started = on_started
        self._listen_seconds = listen_seconds

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """A signal that was obeyed is not raised once more: a drain is no failure."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(1)
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            self._on_started(sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # The application drains since the signal: whoever asks for health is to hear of it.
        await asyncio.sleep(self._listen_seconds)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """The listening socket. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def run_web(
    application: App,
    listener: socket.socket,
    limits: ServerLimits,
    *,
    trust_proxy: bool,
    on_started: OnStarted,
) -> None:
    """Serve in this (main) thread until SIGTERM or SIGINT; a second one ends the process at once.

    `trust_proxy`: X-Forwarded-Proto and X-Forwarded-For are believed, of whoever connects.
    """
    config = uvicorn.Config(
        application,
        interface="asgi3",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=trust_proxy,
        forwarded_allow_ips="*",
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ws=Sockets,
        ws_max_size=limits.frame_bytes,
        ws_ping_interval=limits.send_seconds,
        ws_ping_timeout=limits.send_seconds,
        ws_per_message_deflate=False,
    )
    asyncio.run(WebServer(config, on_started, limits.listen_seconds).serve(sockets=[listener]))
