"""Streams that do not begin, and clients that do what they may not: the same words on every server."""

from __future__ import annotations

import json
import socket
import struct
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from uuid_utils.compat import uuid7
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.support.common_server import no_session_stays, server
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

__all__ = ["no_session_stays", "server"]

PATIENCE_SECONDS = 60.0


@pytest.fixture
def session(server: ServerProcess) -> SessionClient:
    return SessionClient.create(server)


def opened(session: SessionClient, path: str = "", query: str = "", **options: Any) -> ClientConnection:
    address = urlsplit(session.server.url)
    host = options.pop("host", address.netloc)
    where = f"ws://{host}{path or f'/ws/sessions/{session.id}'}{'?' + query if query else ''}"
    bearer = {"Authorization": f"Bearer {session.token}"}
    line = socket.create_connection((address.hostname, address.port), timeout=PATIENCE_SECONDS)
    made: ClientConnection = connect(
        where, sock=line, **{"additional_headers": bearer, "proxy": None, **options}
    )
    return made


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "nobody": ({"additional_headers": {}}, 401, "not_authenticated"),
    "a wrong token": ({"additional_headers": {"Authorization": "Bearer wrong"}}, 401, "not_authenticated"),
    "another session": ({"path": f"/ws/sessions/{uuid7()}"}, 404, "not_found"),
    "no session": ({"path": "/ws/sessions/x"}, 404, "not_found"),
    "another address": ({"path": "/ws/elsewhere"}, 404, "not_found"),
    "another host": ({"host": "evil.example"}, 400, "invalid_host"),
    "half a cursor": ({"query": "after_seq=1"}, 400, "invalid_request"),
    "a malformed cursor": ({"query": "after_generation=1-abcd&after_seq=1_0"}, 400, "invalid_request"),
    "no UTF-8": ({"query": "tail=%ff"}, 400, "invalid_request"),
    "another subprotocol": ({"subprotocols": ["albedo.v0"]}, 400, "invalid_request"),
}


OF_SOCKETS = ("another address", "another subprotocol")


@pytest.mark.parametrize("what", REFUSED)
def test_a_socket_is_refused_before_its_upgrade_with_a_problem(session: SessionClient, what: str) -> None:
    options, status, code = REFUSED[what]
    with pytest.raises(InvalidStatus) as refused, opened(session, **options):
        pass
    response = refused.value.response
    problem = json.loads(response.body or b"")
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert response.headers["Content-Type"] == "application/problem+json"
    assert ("WWW-Authenticate" in response.headers) == (status == 401)


@pytest.mark.parametrize(
    "what", [what for what in REFUSED if "subprotocol" not in what and "address" not in what]
)
def test_an_event_stream_is_refused_with_the_same_problem(session: SessionClient, what: str) -> None:
    options, status, code = REFUSED[what]
    path = options.get("path", f"/ws/sessions/{session.id}").replace("/ws/", "/api/")
    given = options.get("additional_headers", {"Authorization": f"Bearer {session.token}"})
    headers = {"Accept": "text/event-stream", **given}
    if "host" in options:
        headers["Host"] = options["host"]
    with session.server.client("") as client:
        answer = client.get(f"{path}?{options.get('query', '')}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_token_may_come_as_a_subprotocol_and_is_not_said_back(session: SessionClient) -> None:
    offered = ["albedo.v1", f"bearer.{session.token}"]
    with opened(session, additional_headers={}, subprotocols=offered) as line:
        assert line.subprotocol == "albedo.v1"
        assert line.recv(PATIENCE_SECONDS)


# Each a frame of text, masked by nothing; of the second only the beginning, since who goes on sending may
# lose the answer with the line.
SAID = {
    "a word": (b"\x81\x85" + bytes(4) + b"hello", 4400),
    "a book": (b"\x81\xff" + struct.pack("!Q", 2**31) + bytes(4) + b"Once", 1009),
}


@pytest.mark.parametrize("what", SAID)
def test_who_speaks_is_closed(session: SessionClient, what: str) -> None:
    said, code = SAID[what]
    with opened(session) as line:
        line.recv(PATIENCE_SECONDS)
        line.socket.sendall(said)
        with suppress(ConnectionClosed):
            for _ in line:
                pass
        assert line.close_code == code
