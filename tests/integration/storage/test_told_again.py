"""Writes that were stored and not heard of: asked again they are the same ones, and nothing happens twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from pytest_django import Settings

from sessions_app.ids import new_id
from sessions_app.models import Entry, Input, Session
from sessions_app.store import calls, claims, executor, inputs, runs
from sessions_app.store.calls import CallNotPending
from sessions_app.store.fence import Fence, LeaseLost, hold
from sessions_app.store.settled import settled
from sessions_app.store.steps import record_step
from sessions_app.store.trouble import Busy
from tests.support.store import accepted, call, claimed, step


class Unheard:
    """The store's function, whose answer is lost the first time."""

    def __init__(self, fn: Any, error: Exception) -> None:
        self._fn = fn
        self._error: Exception | None = error
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        done = self._fn(*args, **kwargs)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return done


LOST = OperationalError("server closed the connection unexpectedly")


async def test_an_input_whose_answer_was_lost_is_accepted_once(session: Session, alice: User) -> None:
    asked = inputs.NewInput(new_id(), "once", "queue", "f")
    accept = Unheard(inputs.accept_input, LOST)
    acceptance = await settled(accept, session.id, alice, asked)
    assert accept.calls == 2
    assert acceptance.input.uid == asked.uid
    assert await executor.read(Input.objects.filter(session=session).count) == 1


async def test_what_was_surely_not_stored_is_not_tried_again(session: Session, alice: User) -> None:
    refused = Unheard(lambda: None, Busy("no time"))
    with pytest.raises(Busy):
        await settled(refused)
    assert refused.calls == 1


async def test_a_connection_that_stays_away_is_told_in_bounded_time(
    session: Session, settings: Settings
) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "database_busy_seconds": 0.3}

    def away() -> None:
        raise LOST

    with pytest.raises(OperationalError):
        await settled(away)


def started(session: Session, author: User) -> tuple[Fence, Any]:
    fence = claimed(session).fence
    accepted(session, author)
    taken = runs.start_run(fence)
    assert taken is not None
    (row,) = record_step(fence, step(taken.run.id, call())).calls
    return fence, row


def test_a_start_that_was_not_heard_of_is_told_again_to_who_made_it(session: Session, alice: User) -> None:
    fence, row = started(session, alice)
    at = datetime.now(UTC)
    first = calls.start_call(fence, row.id, at)
    again = calls.start_call(fence, row.id, at)
    assert (again.state, again.started_at) == (first.state, at)
    with pytest.raises(CallNotPending):
        calls.start_call(fence, row.id, at + timedelta(microseconds=1))
    with pytest.raises(CallNotPending):
        calls.start_call(fence, row.id)


def test_a_call_that_has_ended_does_not_start_again_whoever_asks(session: Session, alice: User) -> None:
    fence, row = started(session, alice)
    at = datetime.now(UTC)
    calls.start_call(fence, row.id, at)
    calls.finish_call(fence, row.id, calls.CallResult("ok", "done"))
    with pytest.raises(CallNotPending):
        calls.start_call(fence, row.id, at)


def test_a_claim_that_was_not_heard_of_is_made_again_by_who_made_it(session: Session) -> None:
    first = claimed(session, "one")
    again = claimed(session, "one")
    assert again.fence.generation == first.fence.generation + 1
    assert claims.claim(session.id, host="two", channel="actor.two", lease_seconds=60) is None
    other = claims.claim(session.id, host="one", channel="actor.another", lease_seconds=60)
    assert other is None


def test_a_database_that_has_forgotten_entries_is_not_the_actor_s_any_more(
    session: Session, alice: User
) -> None:
    fence, row = started(session, alice)
    assert fence.head_position == Session.objects.get().head_position == 2
    # As a replica would have it that lacks the last entry.
    Entry.objects.filter(session=session, position=2).delete()
    Session.objects.update(head_position=1)
    with pytest.raises(LeaseLost, match="lost entries"):
        calls.start_call(fence, row.id)
    assert Session.objects.get().generation == fence.generation


def test_a_write_that_was_taken_back_is_nothing_to_remember(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    accepted(session, alice)

    def fails(*_: Any) -> None:
        raise ValueError

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runs, "Taken", fails)
        with pytest.raises(ValueError):
            runs.start_run(fence)
    assert fence.head_position == 0
    assert runs.start_run(fence) is not None
    assert fence.head_position == 1


def test_an_actor_that_has_given_up_writes_nothing_although_nobody_else_came(
    session: Session, alice: User
) -> None:
    fence = claimed(session).fence
    accepted(session, alice)
    fence.given_up = True
    for write in (runs.start_run, lambda fence: claims.release(fence, 3), lambda fence: hold(fence)):
        with pytest.raises(LeaseLost):
            write(fence)
    assert Session.objects.get().lease_until is not None
