"""How many connections a process takes, what it does without further files, and whom it gives up as dead."""

from __future__ import annotations

import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.delivery.conftest import PROJECT, Served, read
from tests.support.cut_proxy import CutProxy
from tests.support.far_side import far_side
from tests.support.process_facts import cpu_seconds, open_files
from tests.support.processes import end, spawn, wait_for
from tests.support.raw_reader import TRANSPORTS, RawReader, Transport

KINDS = ("serve", "web")
ROOM = 6


@pytest.fixture(params=KINDS)
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """Each server, in turn; it may be spoilt."""
    running = Served(tmp_path / "served", kind=request.param)
    yield running
    running.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path / "served", {"connections": ROOM}, ALBEDO_DELIVERY_SUBSCRIBERS="3")
    yield running
    running.close()


def watchers(served: Served) -> int:
    return int(served.control("inspect", session=served.session())["watchers"])


def attach(served: Served, transport: Transport, url: str | None = None) -> RawReader:
    return RawReader(url or served.url, served.session(), served.facts["alice"]["token"], transport)


def asked(served: Served) -> socket.socket:
    """A connection of its own that asks for something."""
    raw = socket.create_connection(("127.0.0.1", served.port), timeout=30)
    raw.sendall(f"GET /echo HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
    return raw


def answer(raw: socket.socket) -> bytes:
    """What comes first; nothing where the connection ends instead."""
    try:
        return raw.recv(4_096)
    except ConnectionResetError:
        return b""


def is_answered(served: Served) -> bool:
    with asked(served) as raw:
        return answer(raw).startswith(b"HTTP/1.1 200")


def test_connections_beyond_the_cap_are_answered_503_and_the_others_are_served(small: Served) -> None:
    # The control client has one already.
    small.control("inspect")
    inside = [asked(small) for _ in range(ROOM - 1)]
    assert {answer(raw)[:12] for raw in inside} == {b"HTTP/1.1 200"}
    over = asked(small)
    refusal = b"".join(iter(lambda: over.recv(4_096), b""))
    assert refusal.startswith(b"HTTP/1.1 503")
    assert b"Retry-After: " in refusal
    assert b'"code": "too_many_connections"' in refusal
    assert small.control("inspect")["claimed"] == 0
    inside.pop().close()
    wait_for(lambda: is_answered(small), "room again")
    for raw in (*inside, over):
        raw.close()


async def test_a_socket_gives_its_place_back_too(small: Served) -> None:
    for _ in range(2 * ROOM):
        async with small.connect() as opened:
            await read(opened)
    wait_for(lambda: is_answered(small), "there is room")


def test_streams_beyond_the_cap_of_the_process_are_refused(small: Served) -> None:
    readers = [attach(small, transport) for transport in (*TRANSPORTS, "sse")]
    assert [reader.status for reader in readers] == [101, 200, 200]
    over_sse = attach(small, "sse")
    assert over_sse.status == 503
    over_sse.close()
    over_socket = attach(small, "websocket")
    assert over_socket.read_on().close_code == 4429
    for reader in (*readers, over_socket):
        reader.close()


def test_without_files_nothing_spins_and_everything_comes_back(either: Served) -> None:
    """What waits to be accepted must not be asked for again and again; who is inside is served."""
    inside = attach(either, "websocket").until_batches(1)
    # The control client keeps its connection.
    wait_for(lambda: watchers(either) == 1, "it watches")
    pid, before = either.process.pid, open_files(either.process.pid)
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (before + 8, limits[1]))
    crowd = [asked(either) for _ in range(64)]
    wait_for(lambda: open_files(pid) >= before + 7, "its files are used up")
    spent, began = cpu_seconds(pid), time.monotonic()
    time.sleep(1.0)
    assert cpu_seconds(pid) - spent < 0.5 * (time.monotonic() - began)
    either.control("publish", session=either.session(), words=["through"])
    while not any(event["data"].get("text") == "through" for event in inside.events):
        assert inside.step()
    for raw in crowd:
        raw.close()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    wait_for(lambda: is_answered(either), "new ones are accepted")
    inside.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_socket_whose_peer_is_silent_behind_an_open_line_is_given_up(tmp_path: Path, kind: str) -> None:
    """A proxy in between goes on acknowledging: only the pong that does not come tells."""
    limits = {"ping_seconds": 0.5, "send_seconds": 1.0}
    served = Served(tmp_path / "served", limits, kind)
    try:
        with CutProxy(served.url) as line:
            reader = attach(served, "websocket", line.url)
            wait_for(lambda: watchers(served) == 1, "it watches")
            line.lose()
            wait_for(lambda: watchers(served) == 0, "it is given up")
            reader.close()
    finally:
        served.close()


HOLD = """
import signal, sys
from tests.support.raw_reader import TRANSPORTS, RawReader
url, session, token = sys.argv[1:]
held = [RawReader(url, session, token, transport).until_batches(1) for transport in TRANSPORTS]
print("attached", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_peers_that_are_cut_off_are_given_up_although_little_was_sent_to_them(
    tmp_path: Path, kind: str
) -> None:
    """Keepalives fit into the kernel's buffer for hours, and an event stream knows no pings."""
    with far_side() as peer:
        environment = {"ALLOWED_HOSTS": f"127.0.0.1,{peer.here}", "ALBEDO_DELIVERY_PEER_SECONDS": "1.5"}
        served = Served(tmp_path / "served", {"peer_seconds": 1.5}, kind, "0.0.0.0", **environment)
        url, token = f"http://{peer.here}:{served.port}", served.facts["alice"]["token"]
        hold = peer.command(sys.executable, "-c", HOLD, url, served.session(), token)
        log = tmp_path / "peer.log"
        holder = spawn(hold, log, folder=PROJECT)
        try:
            wait_for(lambda: b"attached" in log.read_bytes() or holder.poll() is not None, "both attach")
            wait_for(lambda: watchers(served) == 2, "both watch")
            peer.pull_cable()
            wait_for(lambda: watchers(served) == 0, "both are given up")
        finally:
            end(holder)
            served.close()
