"""The web server of `serve`: daphne, made to wait for slow clients and to go in order.

Importing this installs Twisted's asyncio reactor, so it comes before anything else of Twisted. A process runs
it once. Application code knows nothing of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from daphne.server import Server
from twisted.internet import defer
from twisted.internet import reactor as _reactor
from twisted.logger import globalLogBeginner

from albedo_project.files import raise_file_limit
from albedo_project.serving.crowd import Crowd, room_for
from albedo_project.serving.http import LimitedFactory
from albedo_project.serving.limits import ServerLimits
from albedo_project.serving.websocket import DENIAL, GatedFactory, GatedProtocol

reactor: Any = _reactor
# Twisted's deadlines go by the wall clock, which may be set: some would end at once, others hours late.
reactor.seconds = time.monotonic
logger = logging.getLogger(__name__)

RESTARTING = 1012
OnStarted = Callable[[int], Awaitable[None]]
OnShutdown = Callable[[], Awaitable[None]]


class AlbedoServer(Server):  # type: ignore[misc]
    """One listening socket. `start` listens, `drain` ends what is open."""

    def __init__(self, application: Any, limits: ServerLimits) -> None:
        super().__init__(
            application,
            endpoints=["unused"],
            signal_handlers=False,
            server_name="",
            websocket_timeout=-1,
            ping_interval=limits.ping_seconds,
            ping_timeout=limits.send_seconds,
        )
        self.limits = limits
        self.crowd = Crowd(room_for(limits.connections))
        self.connections: dict[Any, dict[str, Any]] = {}
        self._port: Any = None
        self._left = asyncio.Event()

    def start(self, host: str, port: int) -> int:
        """Listen; the port that it really is. Raises CannotListenError."""
        self.http_factory = LimitedFactory(self, self.limits, self.crowd)
        self.ws_factory = GatedFactory(self, self.limits)
        self._port = reactor.listenTCP(port, self.http_factory, interface=host, backlog=512)
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        return int(self._port.getHost().port)

    def protocol_disconnected(self, protocol: Any) -> None:
        super().protocol_disconnected(protocol)
        self._left.set()

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "websocket":
            scope["extensions"] = {DENIAL: {}}
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Returns when the transport can take more. A client that takes nothing for too long is dropped."""
        await super().handle_reply(protocol, message)
        gate = protocol.gate
        if gate is None or gate.is_open:
            return
        is_socket = isinstance(protocol, GatedProtocol)
        try:
            # A socket's own application is to close it first, with a code.
            grace = self.limits.close_seconds if is_socket else 0.0
            async with asyncio.timeout(self.limits.send_seconds + grace):
                await gate.passed()
        except TimeoutError:
            protocol.abort()
        except asyncio.CancelledError:
            # A stream that ends meanwhile would be waited for until its client had read what came before.
            if not is_socket:
                protocol.abort()
            raise

    async def stop_listening(self) -> None:
        if self._port is not None:
            stopped = defer.maybeDeferred(self._port.stopListening)
            self._port = None
            await stopped.asFuture(asyncio.get_running_loop())

    async def drain(self) -> None:
        """Tell sockets that the server restarts, let everything end by itself, within `close_seconds`."""
        for protocol in list(self.connections):
            if isinstance(protocol, GatedProtocol) and protocol.state == protocol.STATE_OPEN:
                protocol.serverClose(RESTARTING)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.close_seconds):
                while self._open_connections():
                    self._left.clear()
                    await self._left.wait()
        await self._cancel_applications()

    def kill_all_applications(self) -> None:
        """Nothing is left to kill: `drain` came first."""

    def _open_connections(self) -> list[Any]:
        return [protocol for protocol, state in self.connections.items() if "disconnected" not in state]

    async def _cancel_applications(self) -> None:
        states = list(self.connections.values())
        tasks = [state["application_instance"] for state in states if "application_instance" in state]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for protocol in self._open_connections():
            protocol.abort()


class _Process:
    """The life of the serving process: start, serve, drain at the first signal, end at the second."""

    def __init__(
        self, server: AlbedoServer, on_started: OnStarted, on_drain: OnShutdown, on_shutdown: OnShutdown
    ) -> None:
        self._server = server
        self._on_started = on_started
        self._on_drain = on_drain
        self._on_shutdown = on_shutdown
        self._stopping: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None

    def begin(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        self._starting = loop.create_task(self._start(host, port))

    def _signalled(self) -> None:
        if self._stopping is not None:
            os._exit(1)
        self._stopping = asyncio.get_running_loop().create_task(self._stop())

    async def _start(self, host: str, port: int) -> None:
        try:
            await self._on_started(self._server.start(host, port))
        except Exception as error:
            self.failure = error
            self._stopping = asyncio.get_running_loop().create_task(self._stop())

    async def _stop(self) -> None:
        try:
            draining = asyncio.ensure_future(self._on_drain())
            if self.failure is None:
                # Whoever asks for health is to hear of it before connections are refused.
                await asyncio.sleep(self._server.limits.listen_seconds)
            await self._server.stop_listening()
            await draining
            await self._on_shutdown()
        except Exception as error:
            logger.exception("Shutting down failed")
            self.failure = self.failure or error
        finally:
            with suppress(Exception):
                await self._server.drain()
            reactor.stop()


async def _nothing() -> None:
    """Where nothing else drains."""


def _silence(event: Any) -> None:
    """Twisted's own log repeats what daphne and autobahn say, and names clients' addresses."""


def run_server(
    application: Any,
    host: str,
    port: int,
    *,
    on_started: OnStarted,
    on_shutdown: OnShutdown,
    on_drain: OnShutdown = _nothing,
    limits: ServerLimits | None = None,
) -> None:
    """Serve in this (main) thread until SIGTERM or SIGINT; a second one ends the process at once.

    `on_started(port)` is awaited when connections are accepted. At the signal `on_drain()` begins (it bounds
    itself), and `listen_seconds` later nothing new is accepted; open connections are answered. Behind it
    `on_shutdown()` is awaited, then sockets get 1012. Raises what one of these or listening raised.
    """
    raise_file_limit()
    observers: Any = [_silence]
    globalLogBeginner.beginLoggingTo(observers, redirectStandardIO=False, discardBuffer=True)
    process = _Process(AlbedoServer(application, limits or ServerLimits()), on_started, on_drain, on_shutdown)
    loop = reactor._asyncioEventloop
    asyncio.set_event_loop(loop)
    loop.call_soon(process.begin, host, port)
    reactor.run(installSignalHandlers=False)
    if process.failure is not None:
        raise process.failure
