from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from sessions_app.models import Entry, Input, Run, Session, ToolCall
from sessions_app.store import calls, claims, inputs, runs
from sessions_app.store.fence import Fence, LeaseLost
from sessions_app.store.steps import record_step
from tests.support.store import accepted, call, claimed, step


def expire(session: Session) -> None:
    Session.objects.filter(id=session.id).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_claim_bumps_the_generation_and_a_second_one_gets_nothing(session: Session) -> None:
    first = claimed(session)
    assert first.fence.generation == 1
    assert claims.claim(session.id, host="two", channel="b", lease_seconds=60) is None
    address = claims.actor_address(session.id)
    assert address is not None
    assert (address.channel, address.generation) == ("actor.one", first.session.public_generation)


def test_an_expired_lease_is_taken_over_and_the_old_actor_is_fenced(session: Session, alice: User) -> None:
    old = claimed(session)
    accepted(session, alice)
    expire(session)
    new = claimed(session, "two")
    assert new.fence.generation == 2
    assert new.session.public_generation != old.session.public_generation
    with pytest.raises(LeaseLost):
        runs.start_run(old.fence)
    assert Run.objects.count() == 0
    assert runs.start_run(new.fence) is not None


@pytest.mark.parametrize("racers", [8])
def test_of_many_that_race_one_gets_the_session(session: Session, racers: int) -> None:
    def race(number: int) -> bool:
        try:
            won = claims.claim(session.id, host=f"h{number}", channel=f"c{number}", lease_seconds=60)
            return won is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(racers) as pool:
        assert sum(pool.map(race, range(racers))) == 1
    session.refresh_from_db()
    assert session.generation == 1


def test_a_claim_closes_what_the_last_actor_left(session: Session, alice: User) -> None:
    old = claimed(session)
    accepted(session, alice)
    taken = runs.start_run(old.fence)
    assert taken is not None
    recorded = record_step(old.fence, step(taken.run.id, call(0), call(1)))
    calls.start_call(old.fence, recorded.calls[0].id)
    waiting = accepted(session, alice, "next")
    expire(session)
    new = claimed(session, "two")
    assert [item.uid for item in new.pending] == [waiting]
    run = Run.objects.get(id=taken.run.id)
    assert run.state == "abandoned"
    assert run.ended_at is not None
    states = ToolCall.objects.order_by("output_index").values_list("state", flat=True)
    assert list(states) == ["lost", "interrupted"]
    kinds = Entry.objects.order_by("position").values_list("kind", flat=True)
    assert list(kinds) == ["user", "tool_call", "tool_call", "tool_result", "tool_result"]
    with pytest.raises(LeaseLost):
        calls.finish_call(old.fence, recorded.calls[0].id, calls.CallResult("ok", "late"))
    assert ToolCall.objects.get(output_index=0).state == "lost"


def test_a_stop_that_was_asked_for_beats_the_crash(session: Session, alice: User) -> None:
    old = claimed(session)
    accepted(session, alice)
    taken = runs.start_run(old.fence)
    assert taken is not None
    inputs.interrupt_run(session.id, alice, taken.run.id, 0)
    expire(session)
    claimed(session, "two")
    run = Run.objects.get(id=taken.run.id)
    assert run.state == "interrupted"
    assert run.settled_at is not None


def test_renewal_extends_what_is_held_and_tells_of_stops(session: Session, alice: User) -> None:
    claim = claimed(session, lease_seconds=20)
    accepted(session, alice)
    taken = runs.start_run(claim.fence)
    assert taken is not None
    inputs.interrupt_run(session.id, alice, taken.run.id, 0)
    renewal = claims.renew("one", [session.id], 60)
    assert renewal.generations == {session.id: 1}
    assert renewal.interrupts == {session.id: taken.run.id}
    session.refresh_from_db()
    assert session.lease_until is not None
    assert session.lease_until > timezone.now() + timedelta(seconds=30)


def test_renewal_leaves_out_what_another_host_has(session: Session) -> None:
    claimed(session)
    expire(session)
    claimed(session, "two")
    assert claims.renew("one", [session.id], 60).generations == {}


def test_a_release_in_order_keeps_the_newest_cursor_good(session: Session) -> None:
    claim = claimed(session)
    claims.release(claim.fence, 42)
    session.refresh_from_db()
    assert (session.lease_until, session.last_sequence, session.generation) == (None, 42, 1)
    assert claims.actor_address(session.id) is None


def test_an_abandoned_lease_is_free_at_once_and_its_cursor_void(session: Session) -> None:
    claims.abandon(claimed(session).fence)
    session.refresh_from_db()
    assert session.last_sequence is None
    assert claimed(session, "two").fence.generation == 2


def test_orphans_are_sessions_with_work_and_nobody_at_it(session: Session, alice: User) -> None:
    assert claims.orphans(10) == []
    accepted(session, alice)
    assert claims.orphans(10) == [session.id]
    claim = claimed(session)
    assert claims.orphans(10) == []
    runs.start_run(claim.fence)
    expire(session)
    assert claims.orphans(10) == [session.id]


def test_a_process_alone_with_its_database_frees_every_lease(session: Session) -> None:
    claimed(session)
    assert claims.free_all() == 1
    assert claims.actor_address(session.id) is None


def test_a_write_without_the_session_is_a_lost_lease(session: Session) -> None:
    with pytest.raises(LeaseLost):
        runs.start_run(Fence(session.id, 7))
    assert Input.objects.count() == 0


def test_who_gave_the_lease_back_writes_nothing_more(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    claims.release(fence, 42)
    accepted(session, alice)
    with pytest.raises(LeaseLost):
        runs.start_run(fence)
    with pytest.raises(LeaseLost):
        claims.release(fence, 43)
    assert Input.objects.get().state == "pending"


def test_nobody_leaves_where_work_came_meanwhile(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    accepted(session, alice)
    assert claims.release_idle(fence, 42) is False
    taken = runs.start_run(fence)
    assert taken is not None
    assert claims.release_idle(fence, 42) is False
    runs.finish_run(fence, taken.run.id, runs.RunEnd("completed"))
    assert claims.release_idle(fence, 42) is True
    session.refresh_from_db()
    assert (session.lease_until, session.last_sequence) == (None, 42)


def test_leaving_is_no_activity(session: Session) -> None:
    fence = claimed(session).fence
    before = Session.objects.get().activity_at
    claims.release_idle(fence, 42)
    assert Session.objects.get().activity_at == before
