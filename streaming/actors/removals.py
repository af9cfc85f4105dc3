"""Goes on with removals of sessions that broke off, or were too long for the request that asked for them."""

from __future__ import annotations

import asyncio
import logging

from sessions_app.removal import remove
from sessions_app.store import executor, retention
from sessions_app.store.trouble import trouble_of

log = logging.getLogger("albedo.host")

_BATCH = 16


async def keep_removing(pause_seconds: float) -> None:
    """Look for them again and again, until cancelled."""
    while True:
        try:
            for session_id in await executor.read(retention.unfinished, _BATCH):
                removal = await executor.write(retention.take, session_id)
                if removal is not None:
                    await remove(removal)
        except Exception as error:
            # The lease runs out; then whoever looks next goes on.
            log.warning("a removal broke off: %s", type(error).__name__, exc_info=trouble_of(error) is None)
        await asyncio.sleep(pause_seconds)
