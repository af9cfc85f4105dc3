"""A host's word that it lives, in its process and in the database."""

from __future__ import annotations

import asyncio

import pytest
from django.db import OperationalError

from sessions_app.instance import hosting
from sessions_app.store import executor, hosts
from streaming.actors.beat import Beat
from streaming.limits import ActorLimits

LIMITS = ActorLimits(lease_seconds=600, renew_seconds=0.02)
PATIENCE_SECONDS = 30

pytestmark = pytest.mark.usefixtures("transactional_db")


async def known(count: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await executor.read(hosts.living) != count:
            await asyncio.sleep(0.01)


async def test_a_host_is_known_while_it_beats_and_gone_when_it_ends() -> None:
    beat = Beat("one", LIMITS, alone=False)
    keeping = asyncio.create_task(beat.keep())
    await known(1)
    assert hosting.alive
    keeping.cancel()
    await beat.end()
    await known(0)
    assert not hosting.alive


async def test_who_is_alone_with_the_database_writes_nothing_there() -> None:
    beat = Beat("one", LIMITS, alone=True)
    keeping = asyncio.create_task(beat.keep())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not hosting.alive:
            await asyncio.sleep(0)
    keeping.cancel()
    assert await executor.read(hosts.living) == 0
    await beat.end()
    assert not hosting.alive


async def test_a_database_that_is_away_ends_no_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, failures = hosts.beat, asyncio.Queue[None]()
    loop = asyncio.get_running_loop()

    def fails(name: str, seconds: float) -> None:
        loop.call_soon_threadsafe(failures.put_nowait, None)
        raise OperationalError("away")

    monkeypatch.setattr(hosts, "beat", fails)
    beat = Beat("one", LIMITS, alone=False)
    keeping = asyncio.create_task(beat.keep())
    async with asyncio.timeout(PATIENCE_SECONDS):
        await failures.get()
        await failures.get()
    monkeypatch.setattr(hosts, "beat", stored)
    await known(1)
    keeping.cancel()
    await beat.end()
