"""Bounds on request bodies under a server that has none: size and pace, taken as the bytes arrive.

Django reads a whole body, to disk, before it asks any view, so this stands before it. `serve` does the same
at its sockets.
"""

from __future__ import annotations

import asyncio
from typing import Any

from albedo_project.serving.limits import ServerLimits
from sessions_app.problems import Problem
from streaming.delivery.refusals import App, Receive, Scope, SendAsgi, refuse_http

DIGITS = 18


def bounded(application: App, limits: ServerLimits) -> App:
    """`application`, over HTTP, which reads a body before it answers and never sees more than it may have."""

    async def answer(scope: Scope, receive: Receive, send: SendAsgi) -> None:
        body = Body(scope, receive, send, limits)
        if body.announced_too_large():
            await refuse_http(body.too_large(), send)
        else:
            await application(scope, body.receive, send)

    return answer


class Body:
    """One request's. Refused, it looks to the application as if the client had gone: nobody else answers."""

    def __init__(self, scope: Scope, receive: Receive, send: SendAsgi, limits: ServerLimits) -> None:
        target = scope.get("raw_path") or scope["path"].encode()
        self._limit = limits.body_limit(scope["method"].encode(), target)
        self._announced = [value for name, value in scope["headers"] if name == b"content-length"]
        self._receive, self._send, self._limits = receive, send, limits
        self._began = asyncio.get_running_loop().time()
        self._received = 0
        self._over = False
        self._refused = False

    def announced_too_large(self) -> bool:
        """A length that is no number is the server's to refuse, or the API's."""
        return any(
            value.isdigit() and (len(value) > DIGITS or int(value) > self._limit) for value in self._announced
        )

    def too_large(self) -> Problem:
        return Problem(413, "too_large", f"The body is larger than {self._limit} bytes.")

    async def receive(self) -> dict[str, Any]:
        if self._over:
            # What comes now is the client's end, however long that takes.
            return await self._receive()
        if self._refused:
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout_at(self._latest()):
                message = await self._receive()
        except TimeoutError:
            return await self._refuse(Problem(408, "request_timeout", "The body did not come in time."))
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            return await self._refuse(self.too_large())
        self._over = not message.get("more_body", False)
        return message

    def _latest(self) -> float:
        earned = self._received / self._limits.body_bytes_per_second
        return self._began + self._limits.body_seconds + earned

    async def _refuse(self, problem: Problem) -> dict[str, Any]:
        self._refused = True
        await refuse_http(problem, self._send)
        return {"type": "http.disconnect"}
