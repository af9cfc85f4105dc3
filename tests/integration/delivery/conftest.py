"""The served process of each test module, and clients for it."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.support.environment import clean_environment
from tests.support.processes import end, spawn, tail, wait_for

PROJECT = Path(__file__).resolve().parents[3]
DEFAULTS = {"ALBEDO_DELIVERY_KEEPALIVE_SECONDS": "0.5", "ALBEDO_DELIVERY_HEAL_SECONDS": "0.3"}


class Served:
    """One served process. `alice`, `bob` and `staff` have a token, a cookie and a session each."""

    def __init__(
        self,
        folder: Path,
        limits: dict[str, Any] | None = None,
        kind: str = "serve",
        host: str = "127.0.0.1",
        **environment: str,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        self._facts_file = folder / "facts.json"
        inherited = dict(os.environ)
        clean_environment(inherited)
        module = "tests.integration.delivery.served"
        self.process: subprocess.Popen[bytes] = spawn(
            [sys.executable, "-m", module, str(self._facts_file), json.dumps(limits or {}), kind, host],
            self.log,
            {**inherited, "DATA_DIR": str(folder / "data"), **DEFAULTS, **environment},
            folder=PROJECT,
        )
        wait_for(lambda: self._facts_file.exists() or self.process.poll() is not None, "facts.json", 90)
        assert self.process.poll() is None, tail(self.log)
        self.facts: dict[str, Any] = json.loads(self._facts_file.read_text("utf-8"))
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=60)

    @property
    def port(self) -> int:
        return int(self.facts["port"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def session(self, user: str = "alice") -> str:
        return str(self.facts[user]["session"])

    def bearer(self, user: str = "alice") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.facts[user]['token']}"}

    def cookie(self, user: str = "alice", origin: str | None = None) -> dict[str, str]:
        headers = {"Cookie": self.facts[user]["cookie"]}
        return headers if origin is None else {**headers, "Origin": origin}

    def control(self, name: str, /, **asked: Any) -> Any:
        return self.http.post(f"/control/{name}", json=asked).raise_for_status().json()

    def connect(
        self, path: str | None = None, headers: dict[str, str] | None = None, **options: Any
    ) -> connect:
        """A WebSocket to alice's session with her token, unless said otherwise."""
        given = self.bearer() if headers is None else headers
        options.setdefault("subprotocols", ["albedo.v1"])
        # A full queue would keep the library from reading, and so from seeing a close.
        options.setdefault("max_queue", None)
        options.setdefault("open_timeout", 60)
        address = f"ws://127.0.0.1:{self.port}{path or f'/ws/sessions/{self.session()}'}"
        return connect(address, additional_headers=given, proxy=None, max_size=None, **options)

    def with_new_people(self) -> Served:
        view = copy.copy(self)
        view.facts = dict(self.facts)
        for name in ("alice", "bob"):
            view.facts[name] = self.control("person", name=f"{name}-{uuid4().hex}")
        return view

    def close(self) -> int:
        self.http.close()
        return end(self.process)


async def read(socket: ClientConnection) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads(await socket.recv())
    return envelope


async def read_words(socket: ClientConnection, count: int) -> list[str]:
    """The next `count` notes, whatever batches they come in; no reset may come between."""
    words: list[str] = []
    while len(words) < count:
        for event in (await read(socket))["events"]:
            assert event["type"] == "note", event
            words.append(event["data"]["text"])
    return words


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for all tests that leave it running."""
    running = Served(tmp_path_factory.mktemp("served"))
    yield running
    running.close()


@pytest.fixture
def served(shared: Served) -> Served:
    """The shared process, with an Alice and a Bob of the test's own."""
    return shared.with_new_people()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A process of the test's own."""
    running = Served(tmp_path / "served")
    yield running
    running.close()
