"""What a scrape asks of the database: few questions, by indexes alone, and none that keeps it waiting."""

from __future__ import annotations

import asyncio
import re
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from albedo_project.metrics import database
from sessions_app.models import Input, Session
from sessions_app.store import executor
from tests.support.rows import alice, session
from tests.support.store import accepted, claimed

__all__ = ["alice", "session"]

TOKEN = "scrape-canary"
# A scan of a table that grows with history; that of hosts has a row for each process.
SCAN = re.compile(r"SCAN (?!sessions_app_host)\S+$", re.MULTILINE)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _token(settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN


async def scraped() -> dict[str, float]:
    answer = await AsyncClient().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_a_scrape_asks_few_questions_and_searches_through_no_table(session: Session, alice: User) -> None:
    accepted(session, alice)
    with CaptureQueriesContext(connection) as asked:
        database.counts()
    assert len(asked) == len(database.FACTS)
    with connection.cursor() as cursor:
        for query in asked.captured_queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = "\n".join(str(row[3]) for row in cursor.fetchall())
            assert not SCAN.search(plan), f"{query['sql']}\n{plan}"


async def test_the_queue_and_its_oldest_are_told(session: Session, alice: User) -> None:
    await executor.write(accepted, session, alice)
    await executor.write(accepted, session, alice, "again")
    await executor.write(claimed, session)
    then = timezone.now() - timedelta(seconds=500)
    await executor.write(Input.objects.filter(order=1).update, created_at=then)
    found = await scraped()
    assert (found["albedo_inputs_pending"], found["albedo_leases_live"]) == (2, 1)
    assert 500 <= found["albedo_inputs_oldest_pending_seconds"] < 600
    await executor.write(Input.objects.update, state="cancelled")
    found = await scraped()
    assert (found["albedo_inputs_pending"], found["albedo_inputs_oldest_pending_seconds"]) == (0, 0)


async def test_a_database_that_is_away_takes_only_its_own_gauges_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (await scraped())["albedo_database_answers"] == 1

    def fails() -> dict[str, float]:
        raise OperationalError("away")

    monkeypatch.setattr(database, "counts", fails)
    found = await scraped()
    assert found["albedo_database_answers"] == 0
    assert "albedo_inputs_pending" not in found
    assert "albedo_runs_total" in found


async def test_one_that_hangs_is_asked_once_however_many_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answering = [], threading.Event()

    def hangs() -> dict[str, float]:
        asked.append(1)
        answering.wait()
        return {fact.name: 7.0 for fact in database.FACTS}

    monkeypatch.setattr(database, "counts", hangs)
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0.01)
    found = await asyncio.gather(*(scraped() for _ in range(8)))
    assert {each["albedo_database_answers"] for each in found} == {0}
    assert len(asked) == 1
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 30.0)
    answering.set()
    assert (await scraped())["albedo_inputs_pending"] == 7
    executor.close()
