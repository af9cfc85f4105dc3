"""What delivery has once a process: the hub, the calls to actors, the limits, each for the running loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import channel_layers
from django.conf import settings

from streaming.delivery.calls import Calls
from streaming.delivery.hub import Hub
from streaming.limits import DeliveryLimits

# How often an open stream asks whether its client may still have it; within 5 s it must be over.
RECHECK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event loop's share; a process that serves has one."""

    calls: Calls
    hub: Hub
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
        found = _by_loop[loop] = Delivery(calls, Hub(broadcast, calls, limits), broadcast, limits)
    return found


async def close() -> None:
    """End the running loop's streams (1012) and tasks; a later `current` starts anew."""
    found = _by_loop.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.hub.close()
        await found.calls.close()


def _limits() -> DeliveryLimits:
    tunables: dict[str, Any] = settings.ALBEDO
    return DeliveryLimits(
        **{field.name: tunables[f"delivery_{field.name}"] for field in fields(DeliveryLimits)}
    )
