"""The ASGI application: streams to `streaming`, everything else over HTTP to Django."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "albedo_project.settings")
django: Any = get_asgi_application()

# Models can be imported only behind Django's own start.
from albedo_project.checks import warn_of_server  # noqa: E402
from albedo_project.files import raise_file_limit  # noqa: E402
from albedo_project.serving.bodies import bounded  # noqa: E402
from albedo_project.serving.draining import end_with_zero, on_signal  # noqa: E402
from albedo_project.serving.limits import server_limits  # noqa: E402
from albedo_project.serving.line import Lines  # noqa: E402
from sessions_app.instance import draining  # noqa: E402
from sessions_app.store import executor  # noqa: E402
from streaming import routing  # noqa: E402
from streaming.delivery import process  # noqa: E402
from streaming.delivery.refusals import Receive, Scope, SendAsgi  # noqa: E402

limits = server_limits()
lines = Lines(limits)
bounded_django = bounded(django, limits)
warn_of_server()


async def application(scope: Scope, receive: Receive, send: SendAsgi) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    with lines.line(send) as line:
        if scope["type"] == "websocket":
            await routing.sockets(scope, receive, line.send)
        elif scope["type"] != "http":
            raise ValueError(f"nothing serves {scope['type']}")
        elif (stream := routing.event_stream(scope, receive, line.send)) is not None:
            await stream
        else:
            await bounded_django(scope, receive, send)


async def _lifespan(receive: Receive, send: SendAsgi) -> None:
    """For servers that offer it: from the signal to end on, streams are told to come back elsewhere."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await process.close()
            await asyncio.to_thread(executor.close)
            await send({"type": "lifespan.shutdown.complete"})
            end_with_zero()
            return
        raise_file_limit()
        on_signal(_drain)
        await send({"type": "lifespan.startup.complete"})


def _drain() -> None:
    if not draining.begun:
        draining.begin()
        process.end_streams()
        lines.cut_late()
