"""Read a channel for as long as it takes: a layer that fails for a while is waited for, not died of."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

log = logging.getLogger("albedo.channel")

# The layer comes back by its own means; what was sent meanwhile is lost, and nothing relies on it.
_RETRY_SECONDS = 0.5


async def receive(layer: Any, channel: str) -> dict[str, Any]:
    """The next message of `channel`."""
    while True:
        try:
            return cast("dict[str, Any]", await layer.receive(channel))
        except Exception as error:
            log.warning("%s cannot be received: %s", channel.partition("!")[0], type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)
