"""`/metrics` of a process that serves nothing else: on an address of its own, with the same access."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from django.core.asgi import get_asgi_application

PATH = "/metrics"


class MetricsServer(uvicorn.Server):
    """It lives as long as whoever started it, who hears the signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def served(listener: socket.socket | None) -> AsyncIterator[None]:
    """Answer on `listener` while the block runs; None: nowhere."""
    if listener is None:
        yield
        return
    config = uvicorn.Config(
        OneView(),
        interface="asgi3",
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    server = MetricsServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


class OneView:
    """The project's own application, of which this path alone is reached."""

    def __init__(self) -> None:
        self._django: Any = get_asgi_application()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == PATH:
            await self._django(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})
