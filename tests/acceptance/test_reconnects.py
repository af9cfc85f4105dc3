"""Readers that lose their connection at any moment, and come back to any process, have read the log exactly.

With ALBEDO_TEST_SLOW=1 a thousand times and five thousand attaches, else fewer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from streaming.providers.scripted import ScriptedThread
from tests.acceptance.conftest import define_profile
from tests.support.cluster import Cluster, running_cluster
from tests.support.endless_model import WORD_CHARS, EndlessModel, piece, words
from tests.support.processes import wait_for
from tests.support.raw_reader import TRANSPORTS, RawReader
from tests.support.restless import Base, Log, Restless
from tests.support.server import ServerProcess
from tests.support.services import PostgresServer
from tests.support.session import SessionClient

SLOW = os.environ.get("ALBEDO_TEST_SLOW") == "1"
RECONNECTS = 1_000 if SLOW else 200
ATTACHES = 5_000 if SLOW else 300
READERS = 8
SEED = 20260731
# Many small events: nothing is joined, and nothing leaves the window while a busy machine lets a reader wait.
LIVELY = {
    "ALBEDO_FEED_TEXT_COALESCE_SECONDS": "0.001",
    "ALBEDO_FEED_WINDOW_EVENTS": "1000000",
    "ALBEDO_FEED_WINDOW_BYTES": "1000000000",
    "ALBEDO_DELIVERY_HEAL_SECONDS": "0.3",
}

pytestmark = pytest.mark.timeout(1_800 if SLOW else 300)


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_url: str
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with running_cluster(folder, postgres_server, redis_url, **LIVELY) as made:
        made.host()
        yield made


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server") / "data", **LIVELY) as running:
        yield running


@pytest.fixture
def model() -> Iterator[EndlessModel]:
    made = EndlessModel()
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


def reconnecting(
    session: SessionClient, servers: list[ServerProcess], model: EndlessModel, seed: int
) -> None:
    """All of it, with one steady reader and the history to compare with."""
    urls = [server.url for server in servers]
    for url in urls:
        # What is opened once and kept is open now.
        with RawReader(url, session.id, session.token, "sse") as reader:
            reader.until_batches(1)
    bases = [Base(server) for server in servers]
    with RawReader(urls[0], session.id, session.token, "websocket", small=False) as steady:
        steady.until_batches(1)
        asked = session.ask("write")
        readers = [Restless(session, urls, seed + n, RECONNECTS // READERS) for n in range(READERS)]
        for each in readers:
            each.start()
        while any(each.is_alive() for each in readers):
            assert steady.step()
        assert [each.fault for each in readers] == [None] * READERS, f"seed {seed}"
        model.stop.set()
        steady.up_to_answer(asked["id"])
        newest = session.settled()["cursor"]["sequence"]
        whole = Log(steady.up_to(newest).batches)
    log = whole.exact(newest)
    for each in readers:
        each.read_up_to(newest)
        mine = each.log.exact(newest)
        assert mine == log[len(log) - len(mine) :], f"seed {seed}"
    assert len({wait for each in readers for wait in each.retries_ms}) > READERS
    final = session.history()[-1]["content"][0]
    text = final["text"] if final["kind"] == "text" else session.content(final["reference"]["url"], "text")
    assert whole.text == text == words(0, len(text) // WORD_CHARS)
    for base in bases:
        wait_for(base.is_back, "streams, tasks and files are given back")


def test_reconnects_across_web_processes_miss_and_repeat_nothing(
    cluster: Cluster, session_of: Callable[[ServerProcess], SessionClient], model: EndlessModel
) -> None:
    servers = [cast(ServerProcess, cluster.web()) for _ in range(2)]
    reconnecting(session_of(servers[0]), servers, model, SEED)


def test_reconnects_to_one_server_miss_and_repeat_nothing(
    embedded: ServerProcess, session_of: Callable[[ServerProcess], SessionClient], model: EndlessModel
) -> None:
    reconnecting(session_of(embedded), [embedded], model, SEED + READERS)


def test_a_snapshot_and_what_follows_it_have_no_seam_while_much_happens(
    embedded: ServerProcess, session_of: Callable[[ServerProcess], SessionClient]
) -> None:
    session = session_of(embedded)
    session.ask("write")
    wait_for(lambda: session.snapshot(0)["current_message"] is not None, "it is written")
    attached = 0
    while attached < ATTACHES:
        transport = TRANSPORTS[attached % 2]
        with RawReader(embedded.url, session.id, session.token, transport, small=False) as reader:
            reader.until_batches(3)
        # A server with much to do refuses now and then.
        assert reader.batches or reader.status == 503 or reader.close_code == 1012
        if reader.batches:
            check_seam(reader)
            attached += 1


def check_seam(reader: RawReader) -> None:
    """Snapshot and events together are the text, without a hole; what comes twice is the same."""
    first, *later = reader.batches
    events = [event for batch in later for event in batch["events"]]
    following = first["cursor"] + 1
    assert [event["sequence"] for event in events] == list(range(following, following + len(events)))
    shown = first["snapshot"]["current_message"]["text"]
    known = shown["offset_scalars"] + len(shown["text"])
    assert shown["text"] == piece(shown["offset_scalars"], known)
    for event in events:
        if event["type"] == "text":
            offset, text = event["data"]["offset_scalars"], event["data"]["text"]
            # What still waited to be published stood in the snapshot already.
            assert offset <= known
            assert text == piece(offset, offset + len(text))
            known = max(known, offset + len(text))
