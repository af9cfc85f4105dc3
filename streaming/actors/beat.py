"""A host's word that it lives: in its process, and for the others in the database, whatever the layer does.

It is said on the loop that runs the actors: a blocked loop must not look alive.
"""

from __future__ import annotations

import asyncio
import logging

from django.db import Error

from sessions_app.instance import hosting
from sessions_app.store import executor, hosts
from streaming.limits import ActorLimits

log = logging.getLogger("albedo.host")


class Beat:
    """`alone`: nobody else has the database, so nobody reads there, and an idle server need not write."""

    def __init__(self, name: str, limits: ActorLimits, *, alone: bool) -> None:
        self._name = name
        self._limits = limits
        self._alone = alone

    async def keep(self) -> None:
        """Say it until cancelled."""
        while True:
            hosting.beat(self._limits.lease_seconds)
            if not self._alone:
                await self._write()
            await asyncio.sleep(self._limits.renew_seconds)

    async def end(self) -> None:
        """Say that it is over; a database that does not answer forgets by itself."""
        hosting.end()
        if not self._alone:
            try:
                await executor.write(hosts.leave, self._name)
            except Error as error:
                log.warning("the host's row stays until it expires: %s", type(error).__name__)

    async def _write(self) -> None:
        try:
            async with asyncio.timeout(self._limits.renew_seconds):
                await executor.keep(hosts.beat, self._name, self._limits.lease_seconds)
        except Exception as error:
            expected = isinstance(error, (Error, TimeoutError))
            log.warning("the host's word was not stored: %s", type(error).__name__, exc_info=not expected)
