"""Durable writes while the database is away, for a moment or for good."""

from __future__ import annotations

import asyncio
import threading
import time
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError
from pytest_django import Settings

from sessions_app.store.fence import Fence, LeaseLost
from streaming.actors import recorder
from streaming.actors.recorder import durable, shielded, unending

FAILURES_OF_A_LONG_OUTAGE = 12


@pytest.fixture
def fence() -> Fence:
    return Fence(uuid4(), 1)


class Away:
    """A write that fails so many times before it succeeds; -1: always."""

    def __init__(self, failures: int) -> None:
        self.left = failures
        self.tried = threading.Event()

    def __call__(self, fence: Fence) -> str:
        self.tried.set()
        if self.left:
            self.left -= 1
            raise OperationalError("database or disk is full")
        return "stored"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "LONGEST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(recorder, "FIRST_PAUSE_SECONDS", 0.001)


async def test_a_write_is_tried_until_the_database_is_back(transactional_db: None, fence: Fence) -> None:
    assert await durable(Away(FAILURES_OF_A_LONG_OUTAGE), fence) == "stored"


async def test_a_connection_that_broke_costs_a_try(transactional_db: None, fence: Fence) -> None:
    failures = [InterfaceError("connection already closed")]

    def write(fence: Fence) -> str:
        if failures:
            raise failures.pop()
        return "stored"

    assert await durable(write, fence) == "stored"


async def test_a_write_fails_when_patience_is_over(
    transactional_db: None, fence: Fence, settings: Settings
) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "actor_patience_seconds": 0.05}
    with pytest.raises(OperationalError):
        await durable(Away(-1), fence)


async def test_what_must_not_be_left_open_is_tried_for_as_long_as_it_takes(
    transactional_db: None, fence: Fence, settings: Settings
) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "actor_patience_seconds": 0}
    assert await unending(Away(FAILURES_OF_A_LONG_OUTAGE), fence) == "stored"


async def test_an_actor_that_was_told_to_go_writes_nothing_more(transactional_db: None, fence: Fence) -> None:
    away = Away(-1)
    writing = asyncio.ensure_future(unending(away, fence))
    await asyncio.to_thread(away.tried.wait, 30)
    fence.given_up = True
    with pytest.raises(LeaseLost):
        async with asyncio.timeout(30):
            await writing


async def test_an_actor_that_goes_by_itself_tries_no_longer_than_it_has_time(
    transactional_db: None, fence: Fence
) -> None:
    fence.closing_at = time.monotonic()
    with pytest.raises(OperationalError):
        await unending(Away(-1), fence)


async def test_a_lost_lease_is_not_tried_again(transactional_db: None, fence: Fence) -> None:
    tries = 0

    def stale(fence: Fence) -> None:
        nonlocal tries
        tries += 1
        raise LeaseLost("past")

    with pytest.raises(LeaseLost):
        await durable(stale, fence)
    assert tries == 1


async def test_a_shielded_write_is_finished_before_its_cancellation_goes_on(
    transactional_db: None, fence: Fence
) -> None:
    begun, release, done = threading.Event(), threading.Event(), threading.Event()

    def write(fence: Fence) -> None:
        begun.set()
        release.wait(30)
        done.set()

    task = asyncio.ensure_future(shielded(fence, durable(write, fence)))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.is_set()


async def test_a_shielded_write_that_cannot_be_made_lets_its_task_go(
    transactional_db: None, fence: Fence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "LAST_SECONDS", 0.05)
    away = Away(-1)
    task = asyncio.ensure_future(shielded(fence, durable(away, fence)))
    await asyncio.to_thread(away.tried.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(30):
            await task
