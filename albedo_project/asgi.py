"""The ASGI application: streams to `streaming`, everything else over HTTP to Django."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "albedo_project.settings")
django_application: Any = get_asgi_application()

# Models can be imported only behind Django's own start.
from streaming import routing  # noqa: E402
from streaming.delivery import process  # noqa: E402
from streaming.delivery.refusals import Receive, Scope, SendAsgi  # noqa: E402


async def application(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    if scope["type"] == "websocket":
        await routing.sockets(scope, receive, send)
    elif scope["type"] == "http":
        await _http(scope, receive, send)
    elif scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        raise ValueError(f"nothing serves {scope['type']}")


async def _http(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    stream = routing.event_stream(scope, receive, send)
    if stream is None:
        await django_application(scope, receive, send)
    else:
        await stream


async def _lifespan(receive: Receive, send: SendAsgi) -> None:
    """For servers that offer it: streams are told to come back before the server waits for them."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await process.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "lifespan.startup.complete"})
