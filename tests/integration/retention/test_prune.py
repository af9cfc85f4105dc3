"""`manage.py prune` on real rows: what goes, what stays, and what is said of it."""

from __future__ import annotations

import io
import re
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from sessions_app import pruning
from sessions_app.ids import first_id_at
from sessions_app.models import ContentChunk, ProviderAttempt, Session
from sessions_app.quantities import parse_size
from sessions_app.store import retention_sizes, vacuum
from tests.integration.retention.content import full_session, marked, rows_of
from tests.support.store import accepted, claimed

pytestmark = pytest.mark.usefixtures("transactional_db", "own_data")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "PAUSE_LEAST_SECONDS", 0.0)


def prune(*arguments: str) -> str:
    told = io.StringIO()
    call_command("prune", *arguments, stdout=told)
    return told.getvalue()


def left() -> set[UUID]:
    return set(Session.every.values_list("id", flat=True))


def test_sessions_of_that_age_go_with_all_that_is_theirs(alice: User) -> None:
    old = full_session(alice, days=91, pieces=2)
    young = full_session(alice, days=89, pieces=2)
    told = prune("--older-than", "90d")
    assert left() == {young.id}
    assert rows_of(old.id) == 0
    assert not Path(old.workspace).exists()
    assert Path(young.workspace).exists()
    assert f"removed {old.id}, last used {old.activity_at.date()}: " in told
    assert "Removed 1 sessions and 0 records of attempts: " in told


def test_what_is_said_is_what_was_there(alice: User) -> None:
    session = full_session(alice, days=91, entries=4, pieces=5)
    (Path(session.workspace) / "large").write_bytes(b"x" * 1_000_000)
    pieces = sum(ContentChunk.objects.values_list("length_bytes", flat=True))
    told = prune("--older-than", "90d")
    found = re.search(r": ([\d.]+ \w+) in the database, ([\d.]+ \w+) of workspace\n", told)
    assert found is not None
    assert pieces <= parse_size(found[1]) <= pieces + 10_000
    assert 1_000_000 <= parse_size(found[2]) <= 1_100_000


def test_a_dry_run_says_the_same_and_removes_nothing(alice: User) -> None:
    old = full_session(alice, days=91)
    busy = full_session(alice, days=91)
    accepted(busy, alice)
    Session.objects.filter(id=busy.id).update(activity_at=old.activity_at)
    before = rows_of(old.id)
    told = prune("--older-than", "90d", "--dry-run")
    assert f"would remove {old.id}" in told
    assert str(busy.id) not in told
    assert "Would remove 1 sessions" in told
    assert "Passed over 1 with work." in told
    assert rows_of(old.id) == before
    assert Path(old.workspace).exists()


def test_work_actors_and_watchers_keep_a_session(alice: User) -> None:
    held, waiting, running = (full_session(alice, days=91) for _ in range(3))
    then = held.activity_at
    # An actor stays while somebody watches, and has the lease so long.
    claimed(held)
    accepted(waiting, alice)
    running.runs.update(state="running", ended_at=None)
    Session.objects.update(activity_at=then)
    told = prune("--older-than", "90d", "--max-size", "0")
    assert left() == {held.id, waiting.id, running.id}
    assert "Removed 0 sessions" in told


def test_options_keep_sessions_that_are_named_or_not_archived(alice: User) -> None:
    named = full_session(alice, days=91, name="mine")
    full_session(alice, days=91, archived=True)
    plain = full_session(alice, days=91)
    kept = full_session(alice, days=91, archived=True)
    prune("--older-than", "90d", "--archived", "--keep", str(kept.id))
    assert left() == {named.id, plain.id, kept.id}
    prune("--older-than", "90d", "--keep-named")
    assert left() == {named.id}


def test_by_size_the_longest_unused_go_until_all_fits(alice: User) -> None:
    sessions = [full_session(alice, days=10 - number, entries=4, pieces=8) for number in range(5)]
    total = retention_sizes.database_bytes() + retention_sizes.workspaces_bytes()
    each = retention_sizes.session_bytes(sessions[0].id)
    told = prune("--max-size", str(total - each - each // 2))
    assert left() == {session.id for session in sessions[2:]}
    assert "still" not in told
    assert retention_sizes.database_bytes() + retention_sizes.workspaces_bytes() <= total - each - each // 2


def test_a_dry_run_by_size_foresees_the_same(alice: User) -> None:
    sessions = [full_session(alice, days=10 - number, entries=4, pieces=8) for number in range(5)]
    total = retention_sizes.database_bytes() + retention_sizes.workspaces_bytes()
    each = retention_sizes.session_bytes(sessions[0].id)
    told = prune("--max-size", str(total - each - each // 2), "--dry-run")
    assert re.findall(r"would remove (\S+),", told) == [str(session.id) for session in sessions[:2]]
    told = prune("--older-than", "9d", "--max-size", str(total - each - each // 2), "--dry-run")
    assert re.findall(r"would remove (\S+),", told) == [str(session.id) for session in sessions[:2]]


def test_workspaces_count_and_what_was_used_lately_is_spared(alice: User) -> None:
    old = full_session(alice, days=3)
    (Path(old.workspace) / "large").write_bytes(b"x" * 3_000_000)
    lately = full_session(alice, days=0.5)
    (Path(lately.workspace) / "large").write_bytes(b"x" * 3_000_000)
    most = retention_sizes.database_bytes() + 4_000_000
    prune("--max-size", str(most))
    assert left() == {lately.id}
    told = prune("--max-size", "1KB")
    assert left() == {lately.id}
    assert "nothing else may be removed" in told
    prune("--max-size", "1KB", "--spare", "1h")
    assert left() == set()


def test_the_size_of_sessions_is_the_same_by_one_and_together(alice: User) -> None:
    ids = [full_session(alice, entries=3, pieces=2).id for _ in range(3)]
    together = retention_sizes.session_bytes(*ids)
    assert together == sum(retention_sizes.session_bytes(session_id) for session_id in ids)
    assert together >= 3 * 3 * 2 * 32_768


def test_without_pages_to_count_the_database_is_as_large_as_its_sessions(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_sizes, "is_exact", lambda: False)
    monkeypatch.setattr(retention_sizes, "_PAGE", 2)
    ids = [full_session(alice, pieces=2).id for _ in range(5)]
    assert retention_sizes.database_bytes() == retention_sizes.session_bytes(*ids)
    prune("--max-size", str(retention_sizes.session_bytes(*ids[:3])), "--spare", "0d")
    assert len(left()) == 2


def test_diagnostics_alone_can_be_removed(alice: User) -> None:
    session = full_session(alice)
    run = session.runs.get()
    now = timezone.now()
    for number, days in enumerate((40, 31, 29)):
        then = now - timedelta(days=days)
        ProviderAttempt.objects.create(
            id=UUID(int=first_id_at(then).int + 1),
            session=session,
            run=run,
            step=2,
            attempt=number,
            started_at=then,
            ended_at=None if days == 31 else then,
        )
    told = prune("--attempts-older-than", "30d", "--dry-run")
    assert "Would remove 0 sessions and 1 records of attempts" in told
    assert ProviderAttempt.objects.count() == 4
    prune("--attempts-older-than", "30d")
    # One that has not ended stays, whatever its age.
    assert sorted(ProviderAttempt.objects.values_list("attempt", flat=True)) == [1, 1, 2]
    assert left() == {session.id}


def test_what_others_left_half_removed_is_ended_first(alice: User) -> None:
    session = full_session(alice)
    marked(session)
    Session.every.update(lease_until=None)
    told = prune("--older-than", "90d")
    assert f"removed what was left of {session.id}" in told
    assert left() == set()


def test_broken_off_the_rest_is_the_servers_at_once(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    full_session(alice, days=91, entries=40)

    def stopped(took: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pruning, "give_way", stopped)
    with pytest.raises(KeyboardInterrupt):
        prune("--older-than", "90d")
    assert not Session.objects.exists()
    (rest,) = Session.every.all()
    assert rest.lease_until is None


def test_it_wants_to_be_told_what(alice: User) -> None:
    for arguments in ((), ("--dry-run",), ("--archived",)):
        with pytest.raises(CommandError, match="Say what"):
            prune(*arguments)
    for option, value in (("--older-than", "soon"), ("--max-size", "much"), ("--keep", "mine")):
        with pytest.raises(CommandError):
            prune("--older-than", "1d", option, value)


def test_space_that_is_free_is_given_back(alice: User) -> None:
    if not vacuum.gives_back():
        vacuum.rebuild()
    full_session(alice, days=91, entries=20, pieces=8)
    file = Path(str(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = file.stat().st_size
    told = prune("--older-than", "90d")
    assert "back to the file system" in told
    assert file.stat().st_size < before - 4_000_000
    assert retention_sizes.free_file_bytes() == 0
