"""Who exists in the served process, and actors that tests direct over HTTP below /control."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

from channels.layers import channel_layers
from django.contrib.auth.models import User
from django.db.backends.signals import connection_created
from django.test import Client
from django.utils import timezone

from albedo_project.asgi import application
from sessions_app.models import Session
from sessions_app.store import tokens
from sessions_app.store.claims import claim, release
from sessions_app.store.executor import write
from streaming.delivery.port import ChannelLive
from streaming.feed.events import Event
from tests.integration.api.rows import add_texts
from tests.unit.delivery.actor import FakeActor

MIB = 1024 * 1024


class Stage:
    """Who exists, and the actors that tests direct."""

    def __init__(self) -> None:
        self.actors: dict[UUID, FakeActor] = {}
        self.facts: dict[str, Any] = {"pid": os.getpid()}
        self.claimed = 0
        self.queries = 0
        connection_created.connect(self._count_queries)
        self._fences: dict[UUID, Any] = {}

    def people(self) -> None:
        for name in ("alice", "bob", "staff"):
            self.facts[name] = _person(name)

    async def host(self) -> None:
        """What an actor host does with a claim, with actors of our own."""
        layer = channel_layers["default"]
        while True:
            message = await layer.receive("actor-hosts")
            self.claimed += 1
            await self.start(UUID(message["session_id"]))

    async def start(self, session_id: UUID, window_events: int = 1_024) -> None:
        actor = FakeActor(
            channel_layers["default"], channel_layers["broadcast"], session_id, window_events=window_events
        )
        channel = await channel_layers["default"].new_channel("actor")
        taken = await write(claim, session_id, host="test", channel=channel, lease_seconds=3_600)
        if taken is None:
            return
        actor.generation = taken.session.public_generation
        actor.state["cursor"]["generation"] = actor.generation
        self._fences[session_id] = taken.fence
        self.actors[session_id] = actor
        await actor.start_on(channel)

    async def rest(self, session_id: UUID) -> None:
        """The actor leaves in order: its newest cursor stays good."""
        actor = self.actors.pop(session_id)
        await actor.die()
        await write(release, self._fences.pop(session_id), actor.window.newest)

    async def crash(self, session_id: UUID) -> None:
        actor = self.actors.pop(session_id)
        await actor.die()
        await write(release, self._fences.pop(session_id), None)

    async def control(self, name: str, asked: dict[str, Any]) -> Any:
        session_id = UUID(asked["session"]) if "session" in asked else UUID(int=0)
        if name == "person":
            return await write(_person, asked["name"])
        if name == "publish":
            return await self._publish(self.actors[session_id], asked)
        if name == "history":
            return await write(_lengthen, session_id, asked["entries"])
        if name == "revoke":
            user = await write(User.objects.get, username=asked["user"])
            return await write(_revoke, user)
        if name == "delete":
            return await write(_delete, session_id)
        if name == "announce":
            await ChannelLive().announce(session_id, asked["owner"], "invalidate")
            return None
        if name == "inspect":
            actor = self.actors.get(session_id)
            watchers = sum(actor.watchers.values()) if actor else 0
            newest = actor.window.newest if actor else 0
            return {
                "watchers": watchers,
                "newest": newest,
                "claimed": self.claimed,
                "rss_bytes": _rss_bytes(),
                "queries": self.queries,
            }
        return await {"start": self.start, "rest": self.rest, "crash": self.crash}[name](session_id)

    def _count_queries(self, connection: Any, **_: Any) -> None:
        def counted(execute: Any, *arguments: Any) -> Any:
            self.queries += 1
            return execute(*arguments)

        connection.execute_wrappers.append(counted)

    async def _publish(self, actor: FakeActor, asked: dict[str, Any]) -> None:
        fill = "x" * asked.get("size", 0)
        for word in asked["words"]:
            event = Event("note", {"code": "n", "text": word + fill})
            await actor.publish(event, lose=asked.get("lose", False))
            # As a real actor, it lets others have their turn.
            await asyncio.sleep(0)


def _person(name: str) -> dict[str, Any]:
    """A user with a token, a login and a session."""
    user = User.objects.create_user(name, is_staff=name == "staff")
    _, token = tokens.issue_token(user, "test")
    client = Client()
    client.force_login(user)
    cookie = "; ".join(f"{key}={morsel.value}" for key, morsel in client.cookies.items())
    now = timezone.now()
    session = Session.objects.create(owner=user, workspace="/", created_at=now, activity_at=now)
    return {"name": name, "id": user.pk, "token": token, "cookie": cookie, "session": str(session.id)}


def _lengthen(session_id: UUID, entries: int) -> None:
    add_texts(str(session_id), ["x"] * entries)


def _revoke(user: User) -> None:
    for row in user.api_tokens.all():
        tokens.revoke_token(user, row.id)


def _delete(session_id: UUID) -> None:
    Session.objects.filter(id=session_id).delete()


def _rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Controlled:
    """The application, with /control and a body that is larger than any socket's buffer."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.sent_bytes = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if scope["type"] == "http" and path.startswith("/control/"):
            await self._control(path.removeprefix("/control/"), receive, send)
        elif scope["type"] == "http" and path == "/flood":
            await self._flood(send)
        elif scope["type"] == "http" and path.startswith("/echo"):
            await self._count_body(receive, send)
        else:
            await application(scope, receive, send)

    async def _control(self, name: str, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        asked = json.loads(body or b"{}")
        answer = (
            {"sent_bytes": self.sent_bytes} if name == "flooded" else await self._stage.control(name, asked)
        )
        await _answer(send, answer)

    async def _flood(self, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):
            await send({"type": "http.response.body", "body": b"x" * MIB, "more_body": True})
            self.sent_bytes += MIB
        await send({"type": "http.response.body", "body": b""})

    async def _count_body(self, receive: Any, send: Any) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await _answer(send, {"size": size})


async def _answer(send: Any, value: Any) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})
