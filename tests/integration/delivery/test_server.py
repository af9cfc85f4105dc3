"""What a client can cost the server: memory, time and attention."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.delivery.conftest import Served, read, read_words
from tests.integration.delivery.test_websocket import closed
from tests.support.processes import wait_for

MIB = 1024 * 1024
KIB = 1024


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Waits shortly for who does not read."""
    limits = {"send_seconds": 1.0, "close_seconds": 20.0}
    running = Served(tmp_path_factory.mktemp("impatient"), limits, ALBEDO_DELIVERY_SEND_SECONDS="1.0")
    yield running
    running.close()


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Waits shortly for requests: for clients that are to be too slow alone, since any may be."""
    running = Served(tmp_path_factory.mktemp("hurried"), {"header_seconds": 0.5, "body_seconds": 0.5})
    yield running
    running.close()


async def test_a_socket_that_is_never_read_costs_little_and_delays_nobody(served: Served) -> None:
    session = served.session()
    async with served.connect() as quick:
        await read(quick)
        stuck = await open_and_stall(served, f"/ws/sessions/{session}")
        wait_for(lambda: watchers(served, session) == 2, "both watch")
        before = served.control("inspect")["rss_bytes"]
        for _ in range(32):
            served.control("publish", session=session, words=["w"] * 64, size=16 * KIB)
            assert len(await read_words(quick, 64)) == 64
        grown = served.control("inspect")["rss_bytes"] - before
        stuck.close()
    # 32 MiB went by: the window keeps 4 of them, the mirror 1, the stuck socket at most 1 more.
    assert grown < 12 * MIB


async def open_and_stall(served: Served, target: str) -> socket.socket:
    """A WebSocket client that shakes hands and then reads nothing, with a small receive buffer."""
    raw = small_socket(served)
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: 127.0.0.1:{served.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        f"Authorization: {served.bearer()['Authorization']}",
        "",
        "",
    ]
    raw.sendall("\r\n".join(lines).encode())
    assert (await asyncio.to_thread(raw.recv, 12)).startswith(b"HTTP/1.1 101")
    return raw


async def test_a_socket_that_takes_too_long_is_closed_with_4408(impatient: Served) -> None:
    session = impatient.session()
    raw = small_socket(impatient)
    # The library stops reading at a full queue of one.
    async with impatient.connect(max_queue=1, sock=raw) as slow:
        await read(slow)
        wait_for(lambda: watchers(impatient, session) == 1, "it is counted")
        impatient.control("publish", session=session, words=["w"] * 64, size=32 * KIB)
        wait_for(lambda: watchers(impatient, session) == 0, "it is let go")
        assert await closed(slow) == 4408


def watchers(served: Served, session: str) -> int:
    return int(served.control("inspect", session=session)["watchers"])


def small_socket(served: Served) -> socket.socket:
    """A connection that cannot hold much unread."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
    raw.connect(("127.0.0.1", served.port))
    return raw


def test_a_response_that_is_never_read_waits_and_is_dropped(impatient: Served) -> None:
    before = impatient.control("inspect")["rss_bytes"]
    raw = socket.create_connection(("127.0.0.1", impatient.port))
    raw.sendall(f"GET /flood HTTP/1.1\r\nHost: 127.0.0.1:{impatient.port}\r\n\r\n".encode())
    assert raw.recv(12) == b"HTTP/1.1 200"
    wait_for(lambda: impatient.control("flooded")["sent_bytes"] == 64 * MIB, "the application was let go")
    # It went on only because the connection was dropped: far less than all of it had been taken.
    grown = impatient.control("inspect")["rss_bytes"] - before
    assert grown < 16 * MIB
    received = 0
    try:
        while piece := raw.recv(MIB):
            received += len(piece)
    except ConnectionResetError:
        pass
    assert received < 32 * MIB
    raw.close()


def test_a_response_that_is_read_slowly_arrives_whole(served: Served) -> None:
    with served.http.stream("GET", "/flood") as response:
        assert sum(len(piece) for piece in response.iter_raw()) == 64 * MIB


@pytest.mark.parametrize(
    ("method", "target", "size", "status"),
    [
        ("POST", "/echo", 64 * KIB, 200),
        ("POST", "/echo", 64 * KIB + 1, 413),
        ("POST", "/api/sessions", 64 * KIB + 1, 413),
        ("PUT", "/echo", 9 * MIB, 413),
        ("POST", "/api/sessions/x/inputs", 9 * MIB + 1, 413),
        ("PUT", "/api/sessions/x/inputs/y", 9 * MIB + 1, 413),
        # More than sockets hold: this client writes all of it before it looks for the answer.
        ("PUT", "/api/sessions/x/inputs/y", 20 * MIB, 413),
        ("POST", "/api/sessions/x/inputs/y/cancel", 64 * KIB + 1, 413),
        ("PATCH", "/api/sessions/x/inputs", 64 * KIB + 1, 413),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_are_limited_by_their_address(
    served: Served, method: str, target: str, size: int, status: int, chunked: bool
) -> None:
    content = pieces(size) if chunked else b"x" * size
    with httpx.Client(base_url=served.url, trust_env=False, timeout=30) as client:
        answer = client.request(method, target, content=content)
    assert answer.status_code == status
    if status == 413:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["connection"] == "close"
        assert answer.json()["code"] == "too_large"
    else:
        assert answer.json() == {"size": size}


def pieces(size: int) -> Iterator[bytes]:
    while size > 0:
        yield b"x" * min(size, 16 * KIB)
        size -= 16 * KIB


@pytest.mark.parametrize(
    ("method", "target"), [("POST", "/api/sessions/x/inputs"), ("PUT", "/api/sessions/x/inputs/y")]
)
def test_an_input_of_nine_megabytes_is_taken(served: Served, method: str, target: str) -> None:
    answer = served.http.request(method, target, content=b"x" * 8_999_000, headers=served.bearer())
    assert answer.status_code != 413


def test_a_body_without_end_is_answered_while_it_comes_and_not_kept(served: Served) -> None:
    """The client never stops sending; the answer comes all the same, early."""
    raw = socket.create_connection(("127.0.0.1", served.port))
    raw.settimeout(40)
    before = served.control("inspect")["rss_bytes"]
    raw.sendall(b"POST /api/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    sent = 0
    try:
        while sent < 300 * MIB:
            raw.sendall(chunk)
            sent += len(chunk)
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert sent < 300 * MIB
    assert raw.recv(12) == b"HTTP/1.1 413"
    raw.close()
    assert served.control("inspect")["rss_bytes"] - before < 8 * MIB


def test_an_announced_length_over_the_limit_is_refused_before_any_of_it(served: Served) -> None:
    raw = socket.create_connection(("127.0.0.1", served.port))
    raw.settimeout(40)
    head = f"POST /api/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: {300 * MIB}\r\n"
    raw.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
    assert raw.recv(12) == b"HTTP/1.1 413"
    raw.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"408"),
        (b"", b"408"),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc", b"408"),
    ],
    ids=["half a header", "nothing", "half a body"],
)
def test_a_client_that_does_not_go_on_is_ended(hurried: Served, sent: bytes, status: bytes) -> None:
    raw = socket.create_connection(("127.0.0.1", hurried.port))
    raw.settimeout(40)
    raw.sendall(sent)
    answer = b""
    while piece := raw.recv(4_096):
        answer += piece
    assert answer.startswith(b"HTTP/1.1 " + status)
    raw.close()


def test_one_byte_at_a_time_does_not_outlast_the_deadlines(hurried: Served) -> None:
    raw = socket.create_connection(("127.0.0.1", hurried.port))
    raw.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(900):
        if select.select([raw], [], [], 0.05)[0]:
            break
        raw.sendall(b"x")
    assert raw.recv(4_096).startswith(b"HTTP/1.1 408")
    raw.close()


def test_a_connection_serves_several_requests(served: Served) -> None:
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        for _ in range(3):
            assert client.post("/echo", content=b"abc").json() == {"size": 3}


def test_a_client_cannot_move_the_site_to_another_root(served: Served) -> None:
    answer = served.http.get("/login/", headers={"Daphne-Root-Path": "/evil"})
    assert "/evil" not in answer.text


def test_a_second_sigterm_ends_at_once(tmp_path: Path) -> None:
    hanging = Served(tmp_path / "served", {"close_seconds": 60.0})
    raw = socket.create_connection(("127.0.0.1", hanging.port))
    raw.sendall(f"GET /flood HTTP/1.1\r\nHost: 127.0.0.1:{hanging.port}\r\n\r\n".encode())
    raw.recv(12)
    hanging.process.terminate()
    wait_for(lambda: not accepts(hanging.port), "nothing new is accepted")
    assert hanging.process.poll() is None
    hanging.process.terminate()
    assert hanging.process.wait(40) == 1
    raw.close()


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
