"""The line that tests break: what goes through, what waits, what is lost, and what a mended line is like."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.support.cut_proxy import CutProxy
from tests.support.processes import wait_for


@pytest.fixture
def echo() -> Iterator[str]:
    """A server that sends back what it gets."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1024):
                connection.sendall(data)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture
def line(echo: str) -> Iterator[CutProxy]:
    with CutProxy(echo) as proxy:
        yield proxy


@pytest.fixture
def client(line: CutProxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", line.port), timeout=30) as connection:
        assert exchange(connection, b"hello") == b"hello"
        yield connection


def exchange(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(1024)


def silent(connection: socket.socket) -> bool:
    """Whether nothing is there: what would be wrong here comes within no time on loopback."""
    connection.settimeout(0.2)
    try:
        return not connection.recv(1024)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(30)


def test_a_cut_ends_what_is_open_and_refuses_what_comes(line: CutProxy, client: socket.socket) -> None:
    line.cut()
    assert client.recv(1024) == b""
    with socket.create_connection(("127.0.0.1", line.port), timeout=30) as another:
        assert another.recv(1024) == b""
    line.mend()
    with socket.create_connection(("127.0.0.1", line.port), timeout=30) as another:
        assert exchange(another, b"again") == b"again"


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_is_stalled_arrives_after_mending(line: CutProxy, client: socket.socket, direction: str) -> None:
    line.stall(direction)  # type: ignore[arg-type]
    client.sendall(b"late")
    assert silent(client)
    line.mend()
    assert client.recv(1024) == b"late"


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_is_lost_never_arrives_and_ends_the_connection_that_lost_it(
    line: CutProxy, client: socket.socket, direction: str
) -> None:
    line.lose(direction)  # type: ignore[arg-type]
    client.sendall(b"lost")
    wait_for(lambda: line.lost_bytes == 4, "the loss")
    line.mend()
    assert client.recv(1024) == b""


def test_a_trap_cuts_one_connection_in_place_of_what_it_waits_for(
    line: CutProxy, client: socket.socket
) -> None:
    happened = line.cut_at("down", lambda data: data.startswith(b"trap"))
    assert exchange(client, b"other") == b"other"
    assert not happened.is_set()
    client.sendall(b"trap")
    assert client.recv(1024) == b""
    assert happened.is_set()
    with socket.create_connection(("127.0.0.1", line.port), timeout=30) as another:
        assert exchange(another, b"trap") == b"trap"


def test_a_slow_line_carries_everything(line: CutProxy, client: socket.socket) -> None:
    line.delay(0.01)
    assert exchange(client, b"slow") == b"slow"
