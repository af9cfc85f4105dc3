"""What waits, as it is told, while the database says otherwise in the meantime."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Input, Session
from sessions_app.store import executor, inputs, runs
from streaming.actors.mailbox import Mailbox
from streaming.actors.publisher import Publisher
from streaming.feed.live_state import initial
from streaming.limits import Limits
from tests.support.store import accepted, claimed


async def nowhere(message: dict[str, Any]) -> None:
    """Nobody listens."""


def mailbox_of(session: Session) -> tuple[Mailbox, Publisher]:
    state = initial("1-a", input_order=0, pending_inputs=[], pending_approvals=[], usage={}, high_water=0)
    publisher = Publisher(uuid4(), "1-a", state, Limits(), nowhere)
    return Mailbox(session.id, publisher, []), publisher


def waiting(publisher: Publisher) -> list[str]:
    return [item["id"] for item in publisher.state["pending_inputs"]]


async def test_what_came_is_told_once_and_in_order(session: Session, alice: User) -> None:
    mailbox, publisher = mailbox_of(session)
    uids = [await executor.write(accepted, session, alice, text) for text in ("a", "b")]
    await asyncio.gather(mailbox.refresh(), mailbox.refresh())
    assert waiting(publisher) == [str(uid) for uid in uids]
    assert publisher.window.newest == 2
    assert publisher.state["input_order"] == 2


async def test_what_was_cancelled_leaves_the_list(session: Session, alice: User) -> None:
    mailbox, publisher = mailbox_of(session)
    uid = await executor.write(accepted, session, alice)
    await mailbox.refresh()
    await executor.write(inputs.cancel_input, session.id, uid)
    await mailbox.refresh()
    assert waiting(publisher) == []
    assert mailbox.empty


async def test_what_a_run_took_does_not_come_back_by_an_older_reading(session: Session, alice: User) -> None:
    mailbox, publisher = mailbox_of(session)
    claim = await executor.write(claimed, session)
    await executor.write(accepted, session, alice)
    await mailbox.refresh()
    older = asyncio.create_task(mailbox.refresh())
    taken = await executor.write(runs.start_run, claim.fence)
    assert taken is not None
    mailbox.taken(taken.inputs)
    await older
    await mailbox.refresh()
    assert waiting(publisher) == []


async def test_what_a_run_took_does_not_come_back_by_the_older_of_two_readings(
    session: Session, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox, publisher = mailbox_of(session)
    claim = await executor.write(claimed, session)
    await executor.write(accepted, session, alice)
    before = await executor.read(runs.pending_inputs, session.id)
    taken = await executor.write(runs.start_run, claim.fence)
    assert taken is not None
    arrives = asyncio.Event()
    readings = [before, []]

    async def read(*_: object) -> list[Input]:
        rows = readings.pop(0)
        if rows:
            await arrives.wait()
        return rows

    monkeypatch.setattr(executor, "read", read)
    older = asyncio.create_task(mailbox.refresh())
    await asyncio.sleep(0)
    mailbox.taken(taken.inputs)
    newer = asyncio.create_task(mailbox.refresh())
    for _ in range(10):
        await asyncio.sleep(0)
    arrives.set()
    await asyncio.gather(older, newer)
    assert waiting(publisher) == []
    assert mailbox.empty


async def test_an_input_that_asks_to_interrupt_is_seen_as_such(session: Session, alice: User) -> None:
    mailbox, _ = mailbox_of(session)
    await executor.write(accepted, session, alice, "now", "interrupt")
    await mailbox.refresh()
    assert mailbox.interrupts
