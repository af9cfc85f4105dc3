"""A session goes for everybody at once, its rows in small pieces, and a removal that broke off is ended."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.access import session_for
from sessions_app.models import ContentChunk, Entry, Session
from sessions_app.problems import Conflict, NotFound, Unavailable
from sessions_app.removal import remove
from sessions_app.store import attempts, claims, executor, retention, sessions
from sessions_app.store.fence import LeaseLost
from sessions_app.store.pace import Pace
from sessions_app.store.retention_rows import OWNED, remove_some, row_pace
from streaming.actors.removals import keep_removing
from tests.integration.retention.content import full_session, marked, rows_of
from tests.support.store import accepted, claimed

PATIENCE_SECONDS = 30

pytestmark = pytest.mark.usefixtures("transactional_db", "own_data")


def expire(session_id: UUID) -> None:
    """As after a crash of whoever removed, some time later."""
    Session.every.filter(id=session_id).update(lease_until=Now() - timedelta(seconds=1))


def removed(session: Session, seconds: float | None = None) -> bool:
    return async_to_sync(remove)(marked(session), seconds)


def test_every_kind_of_row_of_a_session_is_removed_in_pieces() -> None:
    """One that is not named would be removed with the session's own row, however many there are."""
    pointing = {relation.related_model for relation in Session._meta.related_objects}
    assert pointing == {Entry, *OWNED}


def test_nothing_is_left_of_a_session_and_everything_of_others(alice: User) -> None:
    gone, stays = full_session(alice, pieces=2), full_session(alice, pieces=2)
    before = rows_of(stays.id)
    assert removed(gone)
    assert rows_of(gone.id) == 0
    assert rows_of(stays.id) == before
    assert not Path(gone.workspace).exists()
    assert Path(stays.workspace, "made.txt").exists()


def test_a_marked_session_exists_for_nobody(alice: User) -> None:
    session = full_session(alice)
    claim = claimed(session)
    marked(session)
    with pytest.raises(NotFound):
        session_for(alice, session.id)
    with pytest.raises(NotFound):
        accepted(session, alice)
    with pytest.raises(NotFound):
        sessions.update_session(session.id, {"name": "x"})
    with pytest.raises(NotFound):
        retention.mark_deleted(retention.new_removal(session.id), force=True)
    assert claims.claim(session.id, host="two", channel="c", lease_seconds=60) is None
    # The actor that had it writes nothing more, and brings no row back.
    before = rows_of(session.id)
    with pytest.raises(LeaseLost):
        attempts.save_attempt(claim.fence, session.id, session.id, {})
    assert rows_of(session.id) == before
    assert not Session.objects.filter(owner=alice).exists()


def test_its_id_can_be_taken_when_it_is_gone_and_not_before(alice: User) -> None:
    session = full_session(alice)
    removal = marked(session)
    asked = sessions.NewSession("", dict.fromkeys(sessions.TEXT_FIELDS, ""), "f")
    with pytest.raises(Unavailable):
        sessions.create_session(alice, asked, session.id)
    assert async_to_sync(remove)(removal)
    assert sessions.create_session(alice, asked, session.id)[1]


def test_a_mark_that_was_stored_and_not_heard_of_is_the_same_mark(alice: User) -> None:
    session = full_session(alice)
    removal = marked(session)
    retention.mark_deleted(removal, force=False)
    assert async_to_sync(remove)(removal)


def test_busy_sessions_are_marked_by_force_alone(alice: User) -> None:
    session = full_session(alice)
    accepted(session, alice)
    with pytest.raises(Conflict):
        marked(session)
    retention.mark_deleted(retention.new_removal(session.id), force=True)
    assert rows_of(session.id) > 0


def test_a_transaction_is_as_small_as_its_pace(alice: User) -> None:
    session = full_session(alice, entries=40, pieces=3)
    removal = marked(session)
    pace = Pace(8, 8)
    total = rows_of(session.id)
    most = 0
    while True:
        before = rows_of(session.id)
        if not remove_some(removal, pace):
            break
        most = max(most, before - rows_of(session.id))
    assert most <= 8
    assert rows_of(session.id) == 1 < total


def test_a_piece_of_a_long_session_costs_no_more_than_one_of_a_short_one(alice: User) -> None:
    counts = []
    for entries in (20, 200):
        removal = marked(full_session(alice, entries=entries, pieces=1))
        pace = Pace(5, 5)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            remove_some(removal, pace)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 12, counts


async def test_others_write_while_a_session_is_removed(alice: User) -> None:
    session = await executor.write(full_session, alice, entries=300)
    removal = await executor.write(marked, session)
    removing = asyncio.create_task(remove(removal))
    between = 0
    while not removing.done():
        await executor.write(Session.objects.filter(id=session.id).exists)
        between += 1
    assert await removing
    assert between > 3


async def test_what_takes_too_long_for_a_request_is_left_to_the_hosts(alice: User) -> None:
    session = await executor.write(full_session, alice, entries=50)
    removal = await executor.write(marked, session)
    assert not await remove(removal, 0.0)
    assert await executor.read(rows_of, session.id) > 0
    assert await executor.read(retention.unfinished, 5) == [session.id]
    await ended_by_the_hosts(session.id)


async def ended_by_the_hosts(session_id: UUID) -> None:
    sweeping = asyncio.create_task(keep_removing(0.01))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await executor.read(rows_of, session_id):
            await asyncio.sleep(0.01)
    sweeping.cancel()


async def test_a_removal_whose_process_died_is_ended_by_the_hosts(alice: User) -> None:
    session = await executor.write(full_session, alice, entries=50, pieces=1)
    removal = await executor.write(marked, session)
    await executor.write(remove_some, removal, row_pace())
    # Nobody else while its lease lasts.
    assert await executor.read(retention.unfinished, 5) == []
    await executor.write(expire, session.id)
    await ended_by_the_hosts(session.id)
    assert not Path(session.workspace).exists()


def test_who_lost_a_removal_removes_nothing_more(alice: User) -> None:
    session = full_session(alice)
    removal = marked(session)
    expire(session.id)
    assert retention.take(session.id) is not None
    before = rows_of(session.id)
    with pytest.raises(retention.RemovalLost):
        remove_some(removal, row_pace())
    with pytest.raises(retention.RemovalLost):
        retention.finish(removal)
    retention.let_go(removal)
    assert retention.unfinished(5) == []
    assert rows_of(session.id) == before


def test_a_server_that_is_alone_goes_on_at_once_after_its_restart(alice: User) -> None:
    session = full_session(alice)
    marked(session)
    assert retention.unfinished(5) == []
    claims.free_all()
    assert retention.unfinished(5) == [session.id]


def test_folders_elsewhere_and_those_that_others_work_in_stay(
    alice: User, tmp_path: Path, own_data: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shared = own_data / "workspaces" / "shared"
    (shared / "below").mkdir(parents=True)
    other = full_session(alice, folder=shared)
    assert removed(full_session(alice, folder=elsewhere))
    assert removed(full_session(alice, folder=shared))
    assert removed(full_session(alice, folder=shared / "below"))
    assert (elsewhere / "made.txt").exists()
    assert (shared / "below" / "made.txt").exists()
    assert removed(other)
    assert not shared.exists()


def test_a_neighbour_whose_name_begins_alike_keeps_nothing_and_loses_nothing(
    alice: User, own_data: Path
) -> None:
    for name in ("s1", "s10"):
        (own_data / "workspaces" / name).mkdir(parents=True)
    one = full_session(alice, folder=own_data / "workspaces" / "s1")
    full_session(alice, folder=own_data / "workspaces" / "s10")
    assert removed(one)
    assert not Path(one.workspace).exists()
    assert (own_data / "workspaces" / "s10" / "made.txt").exists()


def test_a_link_that_was_planted_leads_nowhere(alice: User, tmp_path: Path, own_data: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "b").mkdir(parents=True)
    (precious / "b" / "kept.txt").write_text("kept")
    top = own_data / "workspaces"
    (top / "a" / "b").mkdir(parents=True)
    (top / "c").mkdir()
    on_the_way = full_session(alice, folder=top / "a" / "b")
    itself = full_session(alice, folder=top / "c")
    (top / "a").rename(top / "old")
    (top / "a").symlink_to(precious)
    (top / "c").rename(top / "older")
    (top / "c").symlink_to(precious / "b")
    assert removed(on_the_way)
    assert removed(itself)
    assert (precious / "b" / "kept.txt").read_text() == "kept"
    assert not (top / "c").is_symlink()


def test_a_session_that_rests_is_marked_and_one_in_use_is_not(alice: User) -> None:
    def is_marked(session: Session) -> bool:
        before = timezone.now() - timedelta(days=30)
        return retention.mark_idle(retention.new_removal(session.id), before)

    old, young = full_session(alice, days=40), full_session(alice, days=20)
    held, waiting, running = (full_session(alice, days=40) for _ in range(3))
    claimed(held)
    accepted(waiting, alice)
    running.runs.update(state="running", ended_at=None)
    Session.objects.filter(id__in=[waiting.id]).update(activity_at=old.activity_at)
    assert [is_marked(each) for each in (old, young, held, waiting, running)] == [True, *[False] * 4]
    assert not is_marked(old)
    assert ContentChunk.objects.count() == 0


def test_an_input_that_comes_while_a_session_is_marked_is_refused_or_keeps_it(alice: User) -> None:
    session = full_session(alice, days=40)
    accepted(session, alice)
    assert not retention.mark_idle(retention.new_removal(session.id), timezone.now() - timedelta(days=30))
    assert session_for(alice, session.id).id == session.id
