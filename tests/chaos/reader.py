"""A reader that never gives up: it comes back with its cursor after every cut, and notes what it saw."""

from __future__ import annotations

import contextlib
import copy
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal

import httpx
import orjson
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect

from tests.chaos.history import Reading, Reset, Seen, digest
from tests.support.fold import RULES
from tests.support.processes import DeadlinePassed

Transport = Literal["ws", "sse"]
TRANSPORTS: tuple[Transport, ...] = ("ws", "sse")
PATIENCE_SECONDS = 90.0
RETRY_SECONDS = 0.05


class Reader:
    """`events` are all it saw, resets included. `faults` are sentences about single messages.

    `gone` is set when the server says that there is no such session.
    """

    def __init__(self, reading: Reading, url: Callable[[], str], token: str, transport: Transport) -> None:
        self.reading = reading
        self.transport = transport
        self.url = url
        self.cursor: tuple[str, int] | None = None
        self.phase = ""
        self.events: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.connections = 0
        self.gone = False
        self._headers = {"Authorization": f"Bearer {token}"}
        self._news = threading.Condition()
        self._stopped = threading.Event()
        self._shown: dict[str, Any] = {}
        self._since = 0
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._read_on, daemon=True)

    def start(self) -> Reader:
        """Returns when the first snapshot is there."""
        self._thread.start()
        self.until(lambda: self.cursor is not None or self.gone, "a snapshot")
        return self

    def stop(self) -> None:
        self._stopped.set()
        self.cut()
        self._thread.join(PATIENCE_SECONDS)

    def cut(self) -> None:
        """End the present connection, as a network would."""
        with contextlib.suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events if event["type"] == kind]

    def view(self) -> dict[str, Any]:
        """What it knows of the session now: the last snapshot, with every event since folded into it."""
        with self._news:
            view = copy.deepcopy(self._shown)
            for event in self.events[self._since :]:
                if event["type"] in RULES:
                    RULES[event["type"]](view, copy.deepcopy(event["data"]))
            return view

    def until(self, fact: Callable[[], bool], what: str) -> None:
        """Return as soon as `fact()` holds of what has come."""
        with self._news:
            if not self._news.wait_for(fact, PATIENCE_SECONDS):
                last = [event["type"] for event in self.events[-20:]]
                raise DeadlinePassed(f"{self.reading.reader}: {what} was not seen; last events: {last}")

    def until_position(self, position: int) -> None:
        """Return when it knows of the history entry there, by an event or a snapshot."""

        def known() -> bool:
            return any(
                item.high_water >= position if isinstance(item, Reset) else item.position == position
                for item in self.reading.log
            )

        self.until(known, f"the entry at {position}")

    def _read_on(self) -> None:
        messages = self._ws_messages if self.transport == "ws" else self._sse_messages
        while not self._stopped.is_set() and not self.gone:
            with contextlib.suppress(OSError, WebSocketException, httpx.HTTPError, EOFError):
                for identity, text in messages():
                    self._take(identity, orjson.loads(text))
            self._stopped.wait(RETRY_SECONDS)

    def _query(self) -> dict[str, Any]:
        if self.cursor is None:
            return {}
        return {"after_generation": self.cursor[0], "after_seq": self.cursor[1]}

    def _ws_messages(self) -> Iterator[tuple[str, str | bytes]]:
        base = self.url().replace("http://", "ws://")
        address = f"{base}/ws/sessions/{self.reading.session}?{httpx.QueryParams(self._query())}"
        try:
            opened = connect(
                address,
                additional_headers=self._headers,
                subprotocols=["albedo.v1"],  # type: ignore[list-item]
                max_size=None,
                open_timeout=30,
                close_timeout=1,
                proxy=None,
            )
        except InvalidStatus as error:
            if error.response.status_code == 404:
                self._say_gone()
            return
        with opened:
            self._opened(opened.socket)
            for text in opened:
                yield "", text
        if opened.close_code == 4404:
            self._say_gone()

    def _sse_messages(self) -> Iterator[tuple[str, str | bytes]]:
        headers = {**self._headers, "Accept": "text/event-stream"}
        address = f"{self.url()}/api/sessions/{self.reading.session}"
        client = httpx.Client(headers=headers, timeout=30, trust_env=False, verify=False)
        with client, client.stream("GET", address, params=self._query()) as answer:
            if answer.status_code == 404:
                self._say_gone()
            if answer.status_code != 200:
                return
            self._opened(answer.extensions["network_stream"].get_extra_info("socket"))
            identity = ""
            for line in answer.iter_lines():
                if line.startswith("id:"):
                    identity = line[3:].strip()
                elif line.startswith("data:"):
                    yield identity, line[5:]

    def _opened(self, opened: socket.socket) -> None:
        self._socket = opened
        self.connections += 1
        if self._stopped.is_set():
            self.cut()

    def _say_gone(self) -> None:
        with self._news:
            self.gone = True
            self._news.notify_all()

    def _take(self, identity: str, batch: dict[str, Any]) -> None:
        with self._news:
            for event in batch["events"]:
                self._note(batch, event)
            told = (batch["generation"], batch["cursor"])
            if told != self.cursor:
                self.faults.append(f"a batch has the cursor {told} where {self.cursor} was reached")
            if identity and identity != f"{batch['generation']}:{batch['cursor']}":
                self.faults.append(f"message {identity} has the cursor {told}")
            self._news.notify_all()

    def _note(self, batch: dict[str, Any], event: dict[str, Any]) -> None:
        generation, data = batch["generation"], event["data"]
        self.events.append(event)
        if event["type"] == "reset":
            snapshot = batch["snapshot"]
            self._shown, self._since = snapshot, len(self.events)
            at, last = snapshot["cursor"]["sequence"], snapshot["history"]["high_water"]
            self.phase = snapshot["status"]["phase"]
            self.cursor = (generation, at)
            self.reading.log.append(Reset(generation, data["reason"], at, last))
            return
        seen = Seen(generation, event["sequence"], digest(event))
        if event["type"] == "message":
            seen.position, seen.entry_id = data["entry"]["position"], data["entry"]["id"]
        elif event["type"] == "tool":
            seen.position, seen.entry_id = data["position"], data["entry_id"]
        elif event["type"] == "turn_completed":
            seen.ends = tuple(data["input_ids"])
        elif event["type"] == "status":
            self.phase = data["phase"]
        self.cursor = (generation, event["sequence"])
        self.reading.log.append(seen)
