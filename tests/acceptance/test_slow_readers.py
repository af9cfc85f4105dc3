"""Who does not read costs little, holds nobody up, is closed in time, and finds its place again.

On both servers: `serve`, and a web process under uvicorn with its actors elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from streaming.limits import KIB, MIB
from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from tests.acceptance.conftest import define_profile
from tests.support.cluster import Cluster
from tests.support.process_facts import is_connected, rss_bytes
from tests.support.processes import wait_for
from tests.support.raw_reader import TRANSPORTS, RawReader
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer
from tests.support.session import SessionClient

QUICK = {"ALBEDO_DELIVERY_KEEPALIVE_SECONDS": "0.5", "ALBEDO_DELIVERY_HEAL_SECONDS": "0.3"}
PATIENT = {**QUICK, "ALBEDO_DELIVERY_SEND_SECONDS": "600"}
IMPATIENT = {**QUICK, "ALBEDO_DELIVERY_SEND_SECONDS": "1.5", "ALBEDO_SERVER_CLOSE_SECONDS": "60"}
HARD = {**IMPATIENT, "ALBEDO_SERVER_CLOSE_SECONDS": "0.5", "ALBEDO_DELIVERY_PEER_SECONDS": "600"}
SERVERS = ("serve", "uvicorn")
STALLED = 20
ROUNDS = 5
# Of the text of one answer: below what a session's window holds.
ANSWER_BYTES = 3 * MIB
TEXT = ("é" * (KIB - 1) + "\n") * (ANSWER_BYTES // (2 * KIB))
ANSWER = Reply(Say(TEXT, fragments=16 * KIB))
# Usage, finish reason and the like, behind the text.
ENDING_FRAMES = 3

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_url: str
) -> Iterator[Cluster]:
    url = postgres_server.new_database()
    made = Cluster(tmp_path_factory.mktemp("cluster"), url, redis_url)
    made.host()
    yield made
    made.close()
    postgres_server.drop(url)


@pytest.fixture
def started(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """`started(kind, environment)`: one of SERVERS."""
    with ExitStack() as stack:

        def start(kind: str, environment: dict[str, str]) -> ServerProcess:
            if kind == "uvicorn":
                web = request.getfixturevalue("cluster").web(**environment)
                return cast(ServerProcess, web)
            return stack.enter_context(ServerProcess(tmp_path / "data", **environment))

        yield start


def session_on(server: ServerProcess, provider: ScriptedThread) -> SessionClient:
    profile = define_profile(server, provider.base_url, "chat_completions")
    return SessionClient.create(server, provider=profile)


def watchers(session: SessionClient) -> int:
    return int(session.http.get(f"/api/inspect/sessions/{session.id}").json()["watchers"])


def attach(session: SessionClient, transport: Any, **options: Any) -> RawReader:
    return RawReader(session.server.url, session.id, session.token, transport, **options)


class Quick(threading.Thread):
    """Reads all the time, and checks that nothing is missing; keeps the sum of it."""

    def __init__(self, reader: RawReader) -> None:
        super().__init__(daemon=True)
        self.reader = reader
        self.sequence = -1
        self.text_chars = 0
        self.turns = 0
        self.faults: list[str] = []

    def run(self) -> None:
        self._take()
        while self.reader.step():
            self._take()

    def _take(self) -> None:
        for batch in self.reader.batches:
            for event in batch["events"]:
                self._note(event, batch["cursor"])
        self.reader.batches.clear()

    def _note(self, event: dict[str, Any], cursor: int) -> None:
        if event["type"] == "reset":
            self.faults += [f"reset at {cursor}"] if self.sequence >= 0 else []
            self.sequence = cursor
            return
        if event["sequence"] != self.sequence + 1:
            self.faults.append(f"{event['sequence']} behind {self.sequence}")
        self.sequence = event["sequence"]
        if event["type"] == "text":
            self.text_chars += len(event["data"]["text"])
        self.turns += event["type"] == "turn_completed"


@pytest.mark.parametrize("kind", SERVERS)
def test_readers_that_stall_cost_little_and_hold_nobody_up(started: Any, kind: str) -> None:
    async def endless(request: ScriptedRequest, out: Out) -> None:
        """TEXT, and no end of it: what is interrupted takes no part of the session's history."""
        for frame in list(ANSWER.frames(request.protocol))[:-ENDING_FRAMES]:
            await out.write(frame)
        await request.closed.wait()

    with ScriptedThread(endless) as provider, ExitStack() as stack:
        session = session_on(started(kind, PATIENT), provider)
        pid = session.server.process.pid
        quick = [Quick(attach(session, transport, small=False)) for transport in TRANSPORTS]
        stalled = [attach(session, TRANSPORTS[number % 2]) for number in range(STALLED)]
        for reader in (*stalled, *(thread.reader for thread in quick)):
            stack.enter_context(reader)
        wait_for(lambda: watchers(session) == STALLED + 2, "all watch")
        for thread in quick:
            thread.start()
            stack.callback(thread.join)
            stack.callback(thread.reader.hang_up)
        before = rss_bytes(pid)
        for number in range(1, ROUNDS + 1):
            session.ask("write")
            wait_for(lambda: all(q.text_chars >= number * len(TEXT) for q in quick), "the text", 60)  # noqa: B023
            session.interrupt()
            wait_for(lambda: all(q.turns == number for q in quick), "the end of the turn", 60)  # noqa: B023
        grown = rss_bytes(pid) - before
        assert watchers(session) == STALLED + 2
        assert [(q.faults, q.text_chars) for q in quick] == [([], ROUNDS * len(TEXT))] * 2
    # 15 MiB went by; queued for each, they would be 300. The session itself has its window and its mirror.
    assert grown < (STALLED + 44) * MIB


@pytest.mark.parametrize("kind", SERVERS)
def test_readers_that_stall_are_closed_and_resume_exactly(started: Any, kind: str) -> None:
    with ScriptedThread(ANSWER) as provider:
        session = session_on(started(kind, IMPATIENT), provider)
        closed_and_resumed(session)


def closed_and_resumed(session: SessionClient) -> None:
    start = session.page()
    stalled = {transport: attach(session, transport) for transport in TRANSPORTS}
    wait_for(lambda: watchers(session) == 2, "both watch")
    session.ask("write")
    wait_for(lambda: watchers(session) == 0, "both are let go", 60)
    newest = session.settled()["cursor"]["sequence"]
    pages = session.pages((start["generation"], start["cursor"]))
    log = [event for page in pages for event in page["events"]]
    assert "".join(event["data"]["text"] for event in log if event["type"] == "text") == TEXT
    for transport, reader in stalled.items():
        with reader:
            reader.read_on()
        assert reader.close_code == (4408 if transport == "websocket" else None)
        cursor = reader.cursor
        assert cursor is not None
        assert cursor[1] < newest
        with attach(session, transport, cursor=cursor, small=False) as again:
            while again.cursor != (cursor[0], newest):
                assert again.step()
        assert again.batches[0]["attach"]["verdict"] == "replay"
        seen = [event for event in (*reader.events, *again.events) if event["type"] != "reset"]
        assert seen == log


@pytest.mark.parametrize("kind", SERVERS)
def test_who_never_reads_again_is_dropped(started: Any, kind: str) -> None:
    """The close frame cannot reach it either, and the connection ends without."""
    with ScriptedThread(ANSWER) as provider, ExitStack() as stack:
        session = session_on(started(kind, HARD), provider)
        stalled = [stack.enter_context(attach(session, transport)) for transport in TRANSPORTS]
        wait_for(lambda: watchers(session) == 2, "both watch")
        port = int(urlsplit(session.server.url).port or 0)
        assert [is_connected(port, reader.port) for reader in stalled] == [True, True]
        session.ask("write")
        wait_for(
            lambda: not any(is_connected(port, reader.port) for reader in stalled), "both are dropped", 60
        )
