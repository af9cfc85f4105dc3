"""A line to a server that can be cut, stalled, slowed, made to lose one direction, and mended: plain TCP."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

Direction = Literal["up", "down"]
BOTH: tuple[Direction, ...] = ("up", "down")


class CutProxy:
    """Passes connections on to `target`, any URL with a host and a port. "up" is towards it.

    Faults hold for all connections, those to come included, until `mend`.
    """

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (str(parts.hostname), int(parts.port or 80))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._news = threading.Condition()
        self._open: set[socket.socket] = set()
        self._whole = True
        self._stalled: frozenset[Direction] = frozenset()
        self._losing: frozenset[Direction] = frozenset()
        self._delay_seconds = 0.0
        self._torn: set[socket.socket] = set()
        self._trap: tuple[Direction, Callable[[bytes], bool], threading.Event] | None = None
        self._closed = False
        self.lost_bytes = 0

    def cut(self) -> None:
        """End every connection, and every new one at once."""
        with self._news:
            self._whole = False
            _shut(self._open)
            self._news.notify_all()

    def stall(self, *directions: Direction) -> None:
        """Connections stay open, and nothing goes through: it arrives after `mend`."""
        with self._news:
            self._stalled = frozenset(directions or BOTH)

    def lose(self, *directions: Direction) -> None:
        """Connections stay open, and what is sent is gone. `mend` ends those that lost something."""
        with self._news:
            self._losing = frozenset(directions or BOTH)

    def delay(self, seconds: float) -> None:
        """Everything that is sent arrives so much later."""
        with self._news:
            self._delay_seconds = seconds

    def cut_at(self, direction: Direction, fact: Callable[[bytes], bool]) -> threading.Event:
        """Cut one connection, once, in place of the first bytes of which `fact` holds; tells when it did."""
        happened = threading.Event()
        with self._news:
            self._trap = (direction, fact, happened)
        return happened

    def lead_to(self, target: str) -> None:
        """Lead somewhere else from now on: what is open is cut, what is new goes there."""
        parts = urlsplit(target)
        with self._news:
            self._target = (str(parts.hostname), int(parts.port or 80))
            _shut(self._open)

    def mend(self) -> None:
        with self._news:
            self._whole, self._stalled, self._losing = True, frozenset(), frozenset()
            self._delay_seconds, self._trap = 0.0, None
            _shut(self._torn)
            self._torn.clear()
            self._news.notify_all()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self.cut()
        # A listener that only closes leaves its accept() waiting.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            if self._keep(near, far):
                for ends in ((near, far, "up"), (far, near, "down")):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _keep(self, *ends: socket.socket) -> bool:
        with self._news:
            if self._whole:
                self._open.update(ends)
                return True
        for end in ends:
            end.close()
        return False

    def _pump(self, source: socket.socket, sink: socket.socket, direction: Direction) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not self._passes(source, data, direction):
                    continue
                sink.sendall(data)
        _shut({source, sink})
        with self._news:
            self._open.discard(source)
            self._torn.discard(source)
        source.close()

    def _passes(self, source: socket.socket, data: bytes, direction: Direction) -> bool:
        """Wait as long as the line asks; False where the bytes are lost. Raises OSError: it is cut."""
        with self._news:
            if self._trap is not None and self._trap[0] == direction and self._trap[1](data):
                self._trap[2].set()
                self._trap = None
                raise ConnectionAbortedError
            if self._delay_seconds:
                self._news.wait_for(lambda: not self._whole, self._delay_seconds)
            self._news.wait_for(lambda: direction not in self._stalled or not self._whole)
            if direction in self._losing:
                self._torn.add(source)
                self.lost_bytes += len(data)
                return False
            return True


def _shut(ends: set[socket.socket]) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
