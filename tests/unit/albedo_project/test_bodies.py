"""Bounds on bodies before an application that reads them whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from albedo_project.serving.bodies import bounded
from albedo_project.serving.limits import ServerLimits
from streaming.delivery.refusals import App, Receive, Scope, SendAsgi

LIMITS = ServerLimits(body_bytes=10, input_bytes=20, body_seconds=1000.0)
INPUT = "/api/sessions/s/inputs"
Message = dict[str, Any]


async def reading(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    """As Django does it: all of the body, then an answer; none to a client that has gone."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def asked(
    pieces: Iterable[bytes],
    path: str = "/api/sessions",
    method: str = "POST",
    length: bytes | None = None,
    application: App = reading,
    limits: ServerLimits = LIMITS,
) -> tuple[list[Message], int]:
    """What was sent, and how many pieces were asked for."""
    left, sent, taken = list(pieces), [], 0

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        if not left:
            await asyncio.Event().wait()
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", length)]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": headers}
    await bounded(application, limits)(scope, receive, send)
    return sent, taken


def status(sent: list[Message]) -> int:
    return int(sent[0]["status"])


@pytest.mark.parametrize(("path", "size"), [("/api/sessions", 10), (INPUT, 20)])
async def test_the_largest_body_passes_and_one_more_byte_does_not(path: str, size: int) -> None:
    sent, _ = await asked([b"x" * size], path)
    assert (status(sent), sent[1]["body"]) == (200, b"x" * size)
    sent, _ = await asked([b"x" * (size + 1)], path)
    assert status(sent) == 413
    assert json.loads(sent[1]["body"])["code"] == "too_large"
    assert len(sent) == 2


async def test_of_a_body_that_grows_too_large_nothing_more_is_read() -> None:
    sent, taken = await asked([b"x" * 6] * 1000)
    assert (status(sent), taken) == (413, 2)


@pytest.mark.parametrize("length", [b"11", b"9" * 5000])
async def test_of_one_that_is_announced_too_large_nothing_is_read(length: bytes) -> None:
    sent, taken = await asked([b"x"], length=length)
    assert (status(sent), taken) == (413, 0)


async def test_a_body_that_does_not_come_is_refused() -> None:
    limits = ServerLimits(body_bytes=10, body_seconds=0.0)
    sent, _ = await asked([], limits=limits)
    assert status(sent) == 408
    assert json.loads(sent[1]["body"])["code"] == "request_timeout"


async def test_behind_a_whole_body_the_client_s_end_is_waited_for_without_a_deadline() -> None:
    ends: list[str] = []

    async def waiting(scope: Scope, receive: Receive, send: SendAsgi) -> None:
        assert (await receive())["body"] == b""
        try:
            async with asyncio.timeout(0.05):
                ends.append((await receive())["type"])
        except TimeoutError:
            ends.append("still there")

    await asked([b""], method="GET", application=waiting, limits=ServerLimits(body_seconds=0.01))
    assert ends == ["still there"]
