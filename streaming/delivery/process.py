"""What delivery has once a process: the hub, the calls to actors, the limits, each for the running loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.layers import channel_layers
from django.conf import settings

from sessions_app.live import Cursor
from sessions_app.snapshots import attach_page
from streaming.delivery.calls import Calls
from streaming.delivery.hub import Hub
from streaming.delivery.layer_probe import LayerProbe
from streaming.delivery.pages import Pages
from streaming.delivery.rechecks import Rechecks
from streaming.delivery.turns import Turns
from streaming.limits import DeliveryLimits


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event loop's share; a process that serves has one."""

    calls: Calls
    hub: Hub
    pages: Pages
    rechecks: Rechecks
    turns: Turns
    probe: LayerProbe
    broadcast: Any
    limits: DeliveryLimits


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Delivery] = WeakKeyDictionary()


def current() -> Delivery:
    """The running loop's, made at the first call."""
    loop = asyncio.get_running_loop()
    found = _by_loop.get(loop)
    if found is None:
        limits = _limits()
        calls = Calls(channel_layers["default"])
        broadcast = channel_layers["broadcast"]
        found = _by_loop[loop] = Delivery(
            calls,
            Hub(broadcast, calls, limits),
            Pages(_fetch),
            Rechecks(),
            Turns(limits.attaching),
            LayerProbe(calls, broadcast),
            broadcast,
            limits,
        )
    return found


def end_streams() -> None:
    """Tell every stream of the running loop to come back elsewhere (1012), and admit no further one."""
    current().hub.closing.set()


async def close() -> None:
    """End the running loop's streams (1012) and tasks; a later `current` starts anew."""
    found = _by_loop.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.hub.close()
        await found.probe.close()
        await found.calls.close()


async def _fetch(session_id: UUID, cursor: Cursor | None, tail: int) -> dict[str, Any]:
    return await attach_page(session_id, cursor, tail=tail)


def _limits() -> DeliveryLimits:
    tunables: dict[str, Any] = settings.ALBEDO
    return DeliveryLimits(
        **{field.name: tunables[f"delivery_{field.name}"] for field in fields(DeliveryLimits)}
    )
