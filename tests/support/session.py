"""A client as somebody would write it from the contract alone: HTTP, the three transports, folding.

It shares no code with the product, so that both cannot be wrong in the same way.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self
from uuid import UUID

import httpx
import orjson
from uuid_utils.compat import uuid7
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support.fold import fold
from tests.support.server import ServerProcess

PATIENCE_SECONDS = 90.0

Event = dict[str, Any]
Batch = dict[str, Any]


class SessionClient:
    """One session of a server."""

    def __init__(self, server: ServerProcess, session_id: str, token: str | None = None) -> None:
        self.server = server
        self.id = session_id
        self.token = token or server.token
        self.http = server.client(self.token)

    @classmethod
    def create(cls, server: ServerProcess, token: str | None = None, **fields: Any) -> Self:
        answer = server.client(token).post("/api/sessions", json=fields)
        assert answer.status_code == 201, answer.text
        return cls(server, answer.json()["id"], token)

    @property
    def path(self) -> str:
        return f"/api/sessions/{self.id}"

    def get(self, path: str = "", **params: Any) -> Any:
        answer = self.http.get(f"{self.path}{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def snapshot(self, tail: int = 100) -> dict[str, Any]:
        return dict(self.get(tail=tail))

    def ask(self, text: str, **fields: Any) -> dict[str, Any]:
        """Send an input; what was accepted."""
        answer = self.http.put(f"{self.path}/inputs/{uuid7()}", json={"text": text, **fields})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def interrupt(self, snapshot: dict[str, Any] | None = None) -> dict[str, Any]:
        """Stop what the snapshot (by default: a fresh one) shows."""
        shown = snapshot or self.snapshot(tail=0)
        body = {"run_id": shown["status"]["run_id"], "through_input_order": shown["input_order"]}
        answer = self.http.post(f"{self.path}/interrupt", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def page(self, cursor: tuple[str, int] | None = None, **params: Any) -> Batch:
        if cursor is not None:
            params |= {"after_generation": cursor[0], "after_seq": cursor[1]}
        return dict(self.get("/stream", **params))

    def pages(self, cursor: tuple[str, int] | None = None) -> list[Batch]:
        """Pages until one says that there is no more."""
        found = [self.page(cursor)]
        while found[-1]["more"]:
            found.append(self.page((found[-1]["generation"], found[-1]["cursor"])))
        return found

    def history(self) -> list[dict[str, Any]]:
        """Every entry, oldest first, by the tokens that pages give."""
        page = self.get("/history")
        entries = list(page["items"])
        while page["older"]:
            page = self.get("/history", next=page["older"])
            entries = [*page["items"], *entries]
        return entries

    def content(self, url: str, field: str) -> str:
        """A referenced field, whole, its pieces checked to be contiguous."""
        pieces: list[str] = []
        offset, following = 0, None
        while True:
            answer = self.http.get(url, params={"next": following} if following else {})
            assert answer.status_code == 200, answer.text
            for part in answer.json()["parts"]:
                assert part["field"] == field
                assert part["encoding"] == "utf8"
                assert part["offset_bytes"] == offset
                offset += len(part["text"].encode())
                pieces.append(part["text"])
            following = answer.json()["next"]
            if not following:
                return "".join(pieces)

    @contextmanager
    def follow(self, cursor: tuple[str, int] | None = None, **params: Any) -> Iterator[Follower]:
        """A WebSocket that is read in a thread while the block runs."""
        follower = Follower(self, cursor, params)
        with follower:
            yield follower

    def answer(self, text: str, **fields: Any) -> list[Event]:
        """Ask, and return the events until its turn is completed and the session is idle."""
        with self.follow() as follower:
            accepted = self.ask(text, **fields)
            return follower.until_answered(accepted["id"])

    def settled(self) -> dict[str, Any]:
        """The snapshot once the session is idle with nothing pending."""
        with self.follow() as follower:
            follower.until(lambda: follower.idle)
        return self.snapshot()


class Follower:
    """A subscriber that reads everything, keeps it, and folds it."""

    def __init__(
        self, session: SessionClient, cursor: tuple[str, int] | None, params: dict[str, Any]
    ) -> None:
        self.session = session
        self.batches: list[Batch] = []
        self.view: dict[str, Any] | None = None
        self.close_code: int | None = None
        if cursor is not None:
            params = {**params, "after_generation": cursor[0], "after_seq": cursor[1]}
        query = str(httpx.QueryParams(params))
        base = session.server.url.replace("http://", "ws://")
        self._url = f"{base}/ws/sessions/{session.id}{'?' + query if query else ''}"
        self._news = threading.Condition()
        self._stack = ExitStack()
        self._socket: Any = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self.session.token}"}
        opened = connect(
            self._url,
            additional_headers=headers,
            subprotocols=["albedo.v1"],  # type: ignore[list-item]
            max_size=None,
            open_timeout=PATIENCE_SECONDS,
            proxy=None,
        )
        self._socket = self._stack.enter_context(opened)
        self._thread.start()
        self.until(lambda: bool(self.batches))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._thread.join(PATIENCE_SECONDS)

    @property
    def events(self) -> list[Event]:
        """All events so far, resets included."""
        return [event for batch in list(self.batches) for event in batch["events"]]

    @property
    def cursor(self) -> tuple[str, int]:
        last = self.batches[-1]
        return last["generation"], last["cursor"]

    @property
    def idle(self) -> bool:
        view = self.view
        return view is not None and view["status"]["phase"] == "idle" and not view["pending_inputs"]

    def of(self, kind: str) -> list[Event]:
        """The data of every event of a type."""
        return [event["data"] for event in self.events if event["type"] == kind]

    def progress(self) -> list[dict[str, Any] | None]:
        return [data["progress"] for data in self.of("tool_progress")]

    def until(self, fact: Callable[[], bool], what: str = "") -> None:
        """Wait until a fact holds of what has arrived."""
        with self._news:
            if not self._news.wait_for(fact, PATIENCE_SECONDS):
                kinds = [event["type"] for event in self.events][-30:]
                raise AssertionError(f"not seen in time: {what or fact}; last events: {kinds}")

    def until_answered(self, input_id: str) -> list[Event]:
        def answered() -> bool:
            done = any(input_id in data["input_ids"] for data in self.of("turn_completed"))
            return done and self.idle

        self.until(answered, f"the answer to {input_id}")
        return self.events

    def _read(self) -> None:
        try:
            for text in self._socket:
                batch = orjson.loads(text)
                with self._news:
                    self._take(batch)
                    self._news.notify_all()
        except ConnectionClosed:
            pass
        with self._news:
            self.close_code = self._socket.protocol.close_code
            self._news.notify_all()

    def _take(self, batch: Batch) -> None:
        self.batches.append(batch)
        for event in batch["events"]:
            if event["type"] == "reset":
                self.view = copy.deepcopy(batch["snapshot"])
            elif self.view is not None:
                self.view = fold(self.view, batch["generation"], event)


def sse_batches(session: SessionClient, **headers: str) -> Iterator[tuple[str, Batch]]:
    """The batches of an SSE stream with their message ids, until the caller stops reading."""
    sent = {"Accept": "text/event-stream", **headers}
    with session.http.stream("GET", session.path, headers=sent) as answer:
        assert answer.status_code == 200
        identity = ""
        for line in answer.iter_lines():
            if line.startswith("id:"):
                identity = line[3:].strip()
            elif line.startswith("data:"):
                yield identity, orjson.loads(line[5:])


def is_uuid7(text: str) -> bool:
    return UUID(text).version == 7
