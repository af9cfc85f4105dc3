"""Callers of the API, how their answers are read, and a live half that records what it is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import AsyncClient

from sessions_app.ids import new_id
from sessions_app.live import Cursor, LiveReply
from sessions_app.store.tokens import issue_token

PROBLEM = "application/problem+json"
Json = dict[str, Any]


@dataclass
class RecordedLive:
    """What was asked of the live half, in order; captures answer what a test put there."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    reply: LiveReply | None = None
    failing: bool = False

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        if self.failing:
            raise ConnectionError("the layer is away")

    async def wake(self, session_id: UUID) -> None:
        self._note("wake", session_id)

    async def interrupt(self, session_id: UUID, run_id: UUID, *, superseded: bool = False) -> None:
        self._note("interrupt", session_id, run_id)

    async def capture(self, session_id: UUID, cursor: Cursor | None, *, start: bool) -> LiveReply | None:
        self.calls.append(("capture", session_id, cursor, start))
        return self.reply

    async def stop(self, session_id: UUID, reason: str) -> None:
        self._note("stop", session_id, reason)

    async def inspect(self, session_id: UUID) -> Json | None:
        return None

    async def layer_up(self) -> bool:
        return not self.failing

    async def announce(self, session_id: UUID, owner_id: int, change: str) -> None:
        self._note("announce", session_id, owner_id, change)

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call for call in self.calls if call[0] == name]


LIVE = RecordedLive()


def recorded_live() -> RecordedLive:
    return LIVE


@dataclass
class Caller:
    """A user with a token, and requests in their name."""

    user: User
    token: str
    # Kept, since every new client loads all middleware again.
    client: AsyncClient = field(default_factory=AsyncClient)

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        data: bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> HttpResponse:
        if data is None:
            data = b"" if body is None else json.dumps(body).encode()
        all_headers = {"authorization": f"Bearer {self.token}", **(headers or {})}
        response = await self.client.generic(method, path, data, content_type, headers=all_headers)
        return response  # type: ignore[return-value]

    async def get(self, path: str) -> HttpResponse:
        return await self.send("GET", path)

    async def make_session(self, **body: Any) -> Json:
        response = await self.send("POST", "/api/sessions", body)
        assert response.status_code == 201, response.content
        return told(response)


def told(response: HttpResponse) -> Json:
    """The JSON of an answer."""
    value = json.loads(response.content)
    assert isinstance(value, dict)
    return value


def problem(response: HttpResponse, status: int, code: str) -> Json:
    """The problem that an answer must be."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == PROBLEM
    found = told(response)
    assert found["status"] == status
    assert found["code"] == code
    assert {"type", "title", "detail", "fields"} <= found.keys()
    return found


def caller(name: str, **flags: Any) -> Caller:
    user = User.objects.create_user(name, **flags)
    return Caller(user, issue_token(user, "")[1])


def fresh() -> str:
    return str(new_id())
