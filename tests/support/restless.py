"""Readers that lose their connection all the time, the log that they must have read, what is left of them."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Sequence
from typing import Any

from tests.support.process_facts import open_files
from tests.support.raw_reader import TRANSPORTS, Cursor, RawReader
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

# What stays open for later: a thread's connection to the database, a client that is kept.
SPARE_FILES = 12
SPARE_TASKS = 2


class Log:
    """Events by sequence; the same one again must be the same. One reset begins it, and no other comes."""

    def __init__(self, batches: Sequence[dict[str, Any]] = ()) -> None:
        self.events: dict[int, dict[str, Any]] = {}
        self.began: int | None = None
        for batch in batches:
            self.take(batch)

    def take(self, batch: dict[str, Any]) -> None:
        for event in batch["events"]:
            if event["type"] == "reset":
                assert self.began is None, f"a reset: {event['data']}"
                self.began = batch["cursor"]
            else:
                known = self.events.setdefault(event["sequence"], event)
                assert known == event

    def exact(self, newest: int) -> list[dict[str, Any]]:
        """All of them, which must be every one from the first snapshot on."""
        assert self.began is not None
        assert sorted(self.events) == list(range(self.began + 1, newest + 1))
        return [self.events[sequence] for sequence in sorted(self.events)]

    @property
    def text(self) -> str:
        in_order = [self.events[sequence] for sequence in sorted(self.events)]
        return "".join(event["data"]["text"] for event in in_order if event["type"] == "text")


class Restless(threading.Thread):
    """Attaches, reads a little, is cut off anywhere, and comes back elsewhere with its last cursor."""

    def __init__(self, session: SessionClient, urls: Sequence[str], seed: int, times: int) -> None:
        super().__init__(daemon=True)
        self._session, self._urls, self._times = session, urls, times
        self._random = random.Random(seed)
        self.log = Log()
        self.cursor: Cursor | None = None
        self.fault: BaseException | None = None
        self.retries_ms: list[int] = []
        self.refusals = 0

    def run(self) -> None:
        try:
            for number in range(self._times):
                with self._attach(number) as reader:
                    for _ in range(self._random.randrange(8)):
                        reader.step(self._random.randrange(1, 32_768))
                    self._keep(reader)
        except BaseException as error:
            self.fault = error

    def read_up_to(self, newest: int) -> None:
        while self.cursor is None or self.cursor[1] < newest:
            with self._attach(0) as reader:
                self._keep(reader.up_to(newest))

    def _attach(self, number: int) -> RawReader:
        """A server with much to do refuses for a while: 503, as it should."""
        session, transport = self._session, TRANSPORTS[number % 2]
        while True:
            url = self._random.choice(self._urls)
            reader = RawReader(url, session.id, session.token, transport, self.cursor, small=False)
            if reader.status != 503:
                assert reader.status in (101, 200), reader.status
                return reader
            self.refusals += 1
            reader.close()

    def _keep(self, reader: RawReader) -> None:
        for batch in reader.batches:
            self.log.take(batch)
        self.cursor = reader.cursor or self.cursor
        self.retries_ms += reader.retry_ms


class Base:
    """What a server holds while nobody reads."""

    def __init__(self, server: ServerProcess) -> None:
        self._pid = server.process.pid
        self._http = server.client()
        self._files = open_files(self._pid)
        self._tasks = self._gauge("albedo_tasks")

    def is_back(self) -> bool:
        """Whether it holds no more now."""
        return (
            self._gauge("albedo_stream_subscribers") == self._gauge("albedo_sessions_watched") == 0
            and self._gauge("albedo_tasks") <= self._tasks + SPARE_TASKS
            and open_files(self._pid) <= self._files + SPARE_FILES
        )

    def _gauge(self, name: str) -> float:
        """The sum over all labels."""
        found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self._http.get("/metrics").text, re.M)
        assert found, name
        return sum(map(float, found))
