"""What `/api/health` says, and to whom a balancer should send clients, part by part."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test import AsyncClient

from sessions_app import instance
from sessions_app.health import database
from sessions_app.models import Host
from sessions_app.store import hosts
from sessions_app.store.executor import read, write
from tests.integration.api.callers import RecordedLive

pytestmark = pytest.mark.usefixtures("transactional_db", "live")


async def asked() -> HttpResponse:
    answer: HttpResponse = await AsyncClient().get("/api/health")  # type: ignore[assignment]
    return answer


def told(answer: HttpResponse) -> tuple[int, Any]:
    return answer.status_code, answer.json()  # type: ignore[attr-defined]


async def test_a_layer_that_carries_nothing_keeps_nobody_away(live: RecordedLive, host_here: None) -> None:
    live.failing = True
    answer = await asked()
    assert told(answer) == (200, {"status": "degraded", "faults": ["layer"]})
    assert "Retry-After" not in answer


async def test_without_a_host_inputs_wait_and_it_says_so() -> None:
    assert told(await asked()) == (200, {"status": "degraded", "faults": ["hosts"]})


async def test_a_host_elsewhere_is_known_by_its_row() -> None:
    await write(hosts.beat, "one", 60)
    assert told(await asked()) == (200, {"status": "ok"})


async def test_a_host_that_was_not_heard_of_for_its_time_is_gone() -> None:
    await write(hosts.beat, "one", 60)
    await write(Host.objects.update, alive_until=Now() - timedelta(seconds=1))
    assert told(await asked()) == (200, {"status": "degraded", "faults": ["hosts"]})


async def test_a_host_that_beats_again_is_one_host_and_clears_what_is_long_gone() -> None:
    await write(hosts.beat, "old", 60)
    await write(Host.objects.update, alive_until=Now() - timedelta(days=2))
    await write(hosts.beat, "one", 60)
    await write(hosts.beat, "one", 60)
    assert await read(lambda: [host.name for host in Host.objects.all()]) == ["one"]
    await write(hosts.leave, "one")
    assert await read(hosts.living) == 0


async def test_little_space_left_is_told_while_inputs_still_fit(settings: Any, host_here: None) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "storage_reserve_bytes": 2**62}
    assert told(await asked()) == (200, {"status": "degraded", "faults": ["storage"]})


async def test_a_database_that_cannot_be_read_sends_clients_elsewhere(
    monkeypatch: pytest.MonkeyPatch, host_here: None
) -> None:
    def fails() -> bool:
        raise DatabaseError("password=canary host=10.0.0.1")

    monkeypatch.setattr(database, "look", fails)
    answer = await asked()
    assert told(answer) == (503, {"status": "unavailable", "faults": ["database"]})
    assert answer["Retry-After"].isdigit()


async def test_a_database_that_takes_no_writes_does_too(
    monkeypatch: pytest.MonkeyPatch, host_here: None
) -> None:
    def fails() -> None:
        raise DatabaseError("read only")

    monkeypatch.setattr(database, "try_to_write", fails)
    assert told(await asked()) == (503, {"status": "unavailable", "faults": ["database"]})


@pytest.fixture
def draining(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = instance.Draining()
    fresh.begin()
    monkeypatch.setattr("sessions_app.health.check.draining", fresh)


async def test_a_process_that_ends_says_nothing_else(draining: None, live: RecordedLive) -> None:
    live.failing = True
    answer = await asked()
    assert told(answer) == (503, {"status": "draining", "faults": []})
    assert answer["Retry-After"].isdigit()
