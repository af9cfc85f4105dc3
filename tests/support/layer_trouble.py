"""A cluster whose Redis is the test's own to stop, and readers that must not notice more than they may."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from redis import Redis

from streaming.providers.scripted import ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_signal import Signal
from tests.support.cluster import Cluster, Web
from tests.support.processes import wait_for
from tests.support.server import ServerProcess
from tests.support.services import RedisServer
from tests.support.session import SessionClient, sse_batches

PATIENCE_SECONDS = 60.0
PACE_SECONDS = 0.02
# What is waited for in vain without Redis, and what is found out without it.
SOON = {
    "ALBEDO_DELIVERY_CAPTURE_SECONDS": "2",
    "ALBEDO_DELIVERY_KEEPALIVE_SECONDS": "1",
    "ALBEDO_ACTOR_RENEW_SECONDS": "1",
}


class Talker:
    """A model that counts aloud until it is told to end its answer."""

    def __init__(self) -> None:
        self.enough = Signal()
        self.said = 0

    async def __call__(self, request: ScriptedRequest, out: Out) -> None:
        number = 0
        while not self.enough.is_set():
            number += 1
            await out.event({"choices": [{"index": 0, "delta": {"content": f"{number} "}}]})
            self.said = number
            await out.sleep(PACE_SECONDS)
        await out.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        await out.write("data: [DONE]\n\n")
        await out.end()

    def says_more(self) -> None:
        """Return when it has said sixty words more."""
        said = self.said
        wait_for(lambda: self.said > said + 60, "the model goes on", PATIENCE_SECONDS)

    @property
    def words(self) -> str:
        """All that it said."""
        return "".join(f"{number} " for number in range(1, self.said + 1))


class SseReader:
    """Reads a session's SSE stream in a thread, and keeps what came."""

    def __init__(self, session: SessionClient) -> None:
        self.batches: list[dict[str, Any]] = []
        self.ended = False
        self._session = session
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> SseReader:
        self._thread.start()
        wait_for(lambda: bool(self.batches), "the stream begins", PATIENCE_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join(PATIENCE_SECONDS)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for batch in list(self.batches) for event in batch["events"]]

    def _read(self) -> None:
        try:
            for _, batch in sse_batches(self._session):
                self.batches.append(batch)
                if self._leaving.is_set():
                    return
        finally:
            self.ended = True


def seen_from(web: Web, session: SessionClient) -> SessionClient:
    return SessionClient(cast(ServerProcess, web), session.id)


def session_on(web: Web, model: ScriptedThread) -> SessionClient:
    server = cast(ServerProcess, web)
    name = f"model-{model.base_url.rpartition(':')[2].partition('/')[0]}"
    body = {"base_url": model.base_url, "protocol": "chat_completions", "model": "scripted"}
    answer = server.client().put(f"/api/providers/{name}", json=body)
    assert answer.status_code in (200, 201), answer.text
    return SessionClient.create(server, provider=name)


def one_log(events: list[dict[str, Any]]) -> str:
    """The text of one answer as its events told it, if they are one unbroken log behind one reset."""
    assert [event["data"] for event in events if event["type"] == "reset"] == [{"reason": "initial"}]
    sequences = [event["sequence"] for event in events if event["type"] != "reset"]
    assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
    text = ""
    for event in events:
        if event["type"] == "text":
            assert event["data"]["offset_scalars"] == len(text)
            text += event["data"]["text"]
    return text


def count_of(kind: str, events: list[dict[str, Any]]) -> int:
    return sum(event["type"] == kind for event in events)


@contextmanager
def standing_still(process: subprocess.Popen[bytes]) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def stopped(redis: RedisServer) -> Iterator[None]:
    """A Redis that takes connections and answers nothing."""
    assert redis.process is not None
    with standing_still(redis.process):
        yield


@contextmanager
def away(redis: RedisServer) -> Iterator[None]:
    """No Redis, and then one that knows nothing."""
    redis.stop()
    try:
        yield
    finally:
        redis.start()


def commanded(redis: RedisServer, *command: str) -> Callable[[], object]:
    """One command of an operator, to be sent when called."""

    def send() -> object:
        with Redis.from_url(redis.url) as client:
            return client.execute_command(*command)

    return send


class Place:
    """Two web processes and a host, for a module's tests; each leaves Redis up and answering."""

    def __init__(self, cluster: Cluster, redis: RedisServer) -> None:
        cluster.environment |= SOON
        self.cluster = cluster
        self.redis = redis
        self.one, self.two = cluster.web(), cluster.web()
        self.host = cluster.host()
