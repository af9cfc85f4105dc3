"""A process that is told to end lets its readers go at once, and they find their place at another one."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest

from streaming.providers.scripted import ScriptedThread
from tests.acceptance.conftest import define_profile
from tests.support.cluster import running_cluster
from tests.support.endless_model import EndlessModel
from tests.support.raw_reader import TRANSPORTS, RawReader, Transport
from tests.support.restless import Log
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer
from tests.support.session import SessionClient

QUICK = {"ALBEDO_ACTOR_DRAIN_SECONDS": "1", "ALBEDO_DRAIN_LISTEN_SECONDS": "0"}
PAIRS: tuple[Transport, ...] = (*TRANSPORTS, *TRANSPORTS)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def model() -> Iterator[EndlessModel]:
    made = EndlessModel(0.01)
    yield made
    made.stop.set()


@pytest.fixture
def session_of(model: EndlessModel) -> Iterator[Callable[[ServerProcess], SessionClient]]:
    """A session of the model's."""
    with ScriptedThread(model) as provider:

        def make(server: ServerProcess) -> SessionClient:
            profile = define_profile(server, provider.base_url, "chat_completions")
            return SessionClient.create(server, provider=profile)

        yield make


def attached(
    stack: ExitStack, server: ServerProcess, session: SessionClient, *, small: bool
) -> list[RawReader]:
    """Readers at `server`, one for each of PAIRS; small ones are never read further."""
    readers = [RawReader(server.url, session.id, session.token, each, small=small) for each in PAIRS]
    for reader in readers:
        stack.enter_context(reader)
    return readers


def told_to_come_back(readers: list[RawReader]) -> None:
    for transport, reader in zip(PAIRS, readers, strict=True):
        reader.read_on()
        if transport == "websocket":
            # How TCP ends behind the two close frames is nobody's business.
            assert reader.close_code == 1012
        else:
            assert reader.end == "closed"


def half_a_request(server: ServerProcess) -> socket.socket:
    """One whose body does not come."""
    address = urlsplit(server.url)
    raw = socket.create_connection((str(address.hostname), int(address.port or 0)))
    head = f"POST /api/sessions HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
    raw.sendall(f"{head}Authorization: Bearer {server.token}\r\nContent-Length: 50\r\n\r\n{{".encode())
    return raw


def test_readers_of_a_web_process_that_ends_go_on_exactly_at_another_one(
    session_of: Callable[[ServerProcess], SessionClient],
    model: EndlessModel,
    postgres_server: PostgresServer,
    redis_url: str,
    tmp_path: Path,
) -> None:
    with running_cluster(tmp_path, postgres_server, redis_url, **QUICK) as cluster, ExitStack() as stack:
        cluster.host()
        old, new = (cast(ServerProcess, cluster.web()) for _ in range(2))
        session = SessionClient(new, session_of(old).id)
        steady = stack.enter_context(RawReader(new.url, session.id, session.token, "sse", small=False))
        steady.until_batches(1)
        readers = attached(stack, old, session, small=False)
        attached(stack, old, session, small=True)
        stack.enter_context(half_a_request(old))
        asked = session.ask("write")
        for reader in readers:
            reader.until_batches(5)
        old.process.send_signal(signal.SIGTERM)
        told_to_come_back(readers)
        assert old.process.wait(60) == 0
        model.stop.set()
        steady.up_to_answer(asked["id"])
        newest = session.settled()["cursor"]["sequence"]
        log = Log(steady.up_to(newest).batches).exact(newest)
        for transport, reader in zip(PAIRS, readers, strict=True):
            again = RawReader(new.url, session.id, session.token, transport, reader.cursor, small=False)
            with again:
                again.up_to(newest)
            mine = Log([*reader.batches, *again.batches]).exact(newest)
            assert mine == log[len(log) - len(mine) :]
        assert not re.search(r"Traceback| ERROR ", cluster.logs())


@pytest.mark.parametrize("idle", [True, False], ids=["idle", "busy"])
def test_readers_of_the_embedded_server_come_back_to_its_successor(
    tmp_path: Path,
    session_of: Callable[[ServerProcess], SessionClient],
    model: EndlessModel,
    idle: bool,
) -> None:
    with ServerProcess(tmp_path / "data", **QUICK) as server:
        ended_and_back(server, session_of(server), model, idle)


def ended_and_back(server: ServerProcess, session: SessionClient, model: EndlessModel, idle: bool) -> None:
    if idle:
        model.stop.set()
        session.answer("write")
    else:
        session.ask("write")
    with ExitStack() as stack:
        attached(stack, server, session, small=True)
        readers = attached(stack, server, session, small=False)
        stack.enter_context(half_a_request(server))
        for reader in readers:
            reader.until_batches(1 if idle else 5)
        server.process.send_signal(signal.SIGTERM)
        told_to_come_back(readers)
        assert server.process.wait(60) == 0
    server.start()
    rest = SessionClient(server, session.id).snapshot(0)["cursor"]
    for transport, reader in zip(PAIRS, readers, strict=True):
        back = RawReader(server.url, session.id, session.token, transport, reader.cursor, small=False)
        with back:
            attach = back.until_batches(1).batches[0]["attach"]
        # An interrupted run may have ended a moment after its readers were sent away.
        had_all = reader.cursor == (rest["generation"], rest["sequence"])
        assert had_all or not idle
        assert attach["verdict"] == ("up_to_date" if had_all else "reset")
        assert attach["reason"] == (None if had_all else "generation_changed")
    assert not re.search(r"Traceback| ERROR ", server.log.read_text("utf-8"))
