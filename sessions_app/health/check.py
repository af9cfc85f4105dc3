"""The health of this process: what it answers to balancers, and why.

`unavailable` where it can do nothing for anybody (no database), `draining` where it is about to end: others
should be asked. `degraded` where inputs are still accepted and something else is at fault: sending clients
away would help none of them.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import connections

from sessions_app.health import database
from sessions_app.health.probe import Faults, Probe
from sessions_app.instance import draining
from sessions_app.live import live
from sessions_app.store.executor import read, write

Status = Literal["ok", "degraded", "unavailable", "draining"]

DATABASE, HOSTS, LAYER, STORAGE = "database", "hosts", "layer", "storage"
NONE = Faults()
# Behind a backup or a long checkpoint a write waits for a moment, and gets through.
WRITE_PATIENCE_SECONDS = 5.0
# With less than this on its disk SQLite cannot store another input.
FULL_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Health:
    """`faults` are the parts at fault, in order of name."""

    status: Status
    faults: tuple[str, ...] = ()

    @property
    def serves(self) -> bool:
        """Whether clients should be sent here."""
        return self.status in ("ok", "degraded")


class Check:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._probes = (
            Probe(DATABASE, _look),
            Probe(DATABASE, _try_to_write, WRITE_PATIENCE_SECONDS),
            Probe(LAYER, _layer),
            Probe(STORAGE, _storage),
        )

    async def health(self) -> Health:
        """Within a few seconds whatever is at fault, at once where little changed. Never raises."""
        if draining.begun:
            return Health("draining")
        found = await asyncio.gather(*(probe.faults() for probe in self._probes))
        faults = sorted(Faults().union(*found))
        if draining.begun:
            return Health("draining")
        if DATABASE in faults:
            return Health("unavailable", tuple(faults))
        return Health("degraded", tuple(faults)) if faults else Health("ok")


async def _look() -> Faults:
    return NONE if await read(database.look) else Faults({HOSTS})


async def _try_to_write() -> Faults:
    await write(database.try_to_write)
    return NONE


async def _layer() -> Faults:
    return NONE if await live().layer_up() else Faults({LAYER})


async def _storage() -> Faults:
    """In a thread: a folder on a network may not answer."""
    free = (await asyncio.to_thread(shutil.disk_usage, settings.DATA_DIR)).free
    if free >= int(settings.ALBEDO["storage_reserve_bytes"]):
        return NONE
    full = free < FULL_BYTES and connections["default"].vendor == "sqlite"
    return Faults({STORAGE, DATABASE}) if full else Faults({STORAGE})


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Check] = WeakKeyDictionary()


async def health() -> Health:
    """Of this process, asked on the loop that serves."""
    return await _by_loop.setdefault(asyncio.get_running_loop(), Check()).health()
