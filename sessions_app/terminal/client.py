"""The requests of the terminal client, each repeatable: an input keeps its id until the server has it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from sessions_app.terminal.view import View
from sessions_app.terminal.where import Server

# A restart takes seconds; a server that is away for longer is gone.
PATIENCE_SECONDS = 60.0
FIRST_WAIT_SECONDS = 0.25
LONGEST_WAIT_SECONDS = 5.0
# Three of the server's keepalives.
SILENCE_SECONDS = 16.0
MESSAGE_BYTES = 8 * 1024 * 1024
SHOWN_ENTRIES = 20
FINAL_CODES = frozenset({4401, 4404})
FINAL_STATUSES = frozenset({400, 401, 403, 404})


class Refused(Exception):
    """The server said no; the message is for people."""


class Unreachable(Exception):
    """The server did not answer for as long as the client waits."""


class Client:
    """One session's client. Async context manager."""

    def __init__(self, server: Server) -> None:
        self._server = server
        headers = {"Authorization": f"Bearer {server.token}"}
        self._http = httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30, trust_env=False)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def make_session(self, name: str) -> str:
        """Not repeated by itself: a second request would be a second session."""
        answer = await self._once("POST", "/api/sessions", {"name": name} if name else {})
        return str(answer["id"])

    async def check_session(self, session_id: str) -> None:
        await self._request("GET", f"/api/sessions/{session_id}?tail=0")

    async def send(self, session_id: str, input_id: UUID, text: str) -> None:
        await self._request("PUT", f"/api/sessions/{session_id}/inputs/{input_id}", {"text": text})

    async def input(self, session_id: str, input_id: UUID) -> dict[str, Any]:
        return await self._request("GET", f"/api/sessions/{session_id}/inputs/{input_id}")

    async def interrupt(self, session_id: str, view: View) -> None:
        body = {"run_id": view.status["run_id"], "through_input_order": view.input_order}
        await self._request("POST", f"/api/sessions/{session_id}/interrupt", body)

    async def batches(self, session_id: str, view: View) -> AsyncGenerator[Mapping[str, Any], None]:
        """The session's batches without end, over as many connections as it takes; `view` has the cursor.

        Raises Refused, Unreachable.
        """
        waits = Waits()
        while True:
            try:
                async with self._connect(session_id, view) as socket, aclosing(_messages(socket)) as messages:
                    async for batch in messages:
                        waits = Waits()
                        yield batch
                        if view.lost:
                            break
            except InvalidStatus as error:
                if error.response.status_code in FINAL_STATUSES:
                    raise Refused(
                        f"The server refuses this session ({error.response.status_code})."
                    ) from None
            except ConnectionClosed as error:
                if error.rcvd is not None and error.rcvd.code in FINAL_CODES:
                    raise Refused(f"The server closed this session's stream ({error.rcvd.code}).") from None
            except (OSError, InvalidHandshake, TimeoutError):
                pass
            await waits.next()

    def _connect(self, session_id: str, view: View) -> connect:
        query: dict[str, Any] = {"tail": SHOWN_ENTRIES}
        if view.cursor is not None:
            query |= {"after_generation": view.cursor[0], "after_seq": view.cursor[1]}
        return connect(
            f"{self._server.socket_url}/ws/sessions/{session_id}?{urlencode(query)}",
            additional_headers={"Authorization": f"Bearer {self._server.token}"},
            subprotocols=["albedo.v1"],  # type: ignore[list-item]
            max_size=MESSAGE_BYTES,
            ping_interval=None,
            proxy=None,
        )

    async def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """A request that may be repeated. Raises Refused, Unreachable."""
        waits = Waits()
        while True:
            try:
                return await self._once(method, path, body)
            except Unreachable:
                await waits.next()

    async def _once(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        try:
            answer = await self._http.request(method, path, json=body)
        except httpx.TransportError as error:
            raise Unreachable(f"The server cannot be reached ({type(error).__name__}).") from None
        if answer.status_code == 503:
            raise Unreachable("The server is busy.")
        if answer.is_error:
            raise Refused(_problem(answer))
        found = answer.json()
        assert isinstance(found, dict)
        return found


class Waits:
    """Growing pauses, until patience ends."""

    def __init__(self) -> None:
        self._seconds = FIRST_WAIT_SECONDS
        self._end = asyncio.get_running_loop().time() + PATIENCE_SECONDS

    async def next(self) -> None:
        if asyncio.get_running_loop().time() > self._end:
            raise Unreachable(f"The server did not answer for {PATIENCE_SECONDS:.0f} s.")
        await asyncio.sleep(self._seconds)
        self._seconds = min(self._seconds * 2, LONGEST_WAIT_SECONDS)


async def _messages(socket: ClientConnection) -> AsyncGenerator[Mapping[str, Any], None]:
    while True:
        async with asyncio.timeout(SILENCE_SECONDS):
            text = await socket.recv()
        yield json.loads(text)


def _problem(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
        return str(problem.get("detail") or problem["title"])
    except (ValueError, KeyError, AttributeError):
        return f"The server answered {answer.status_code}."
