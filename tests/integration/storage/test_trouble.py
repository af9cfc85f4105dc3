"""What real errors of either database, and of the system, are told as."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError
from django.db.backends.postgresql.base import DatabaseWrapper as Postgres
from django.db.backends.sqlite3.base import DatabaseWrapper as Sqlite

from albedo_project.databases import postgresql
from sessions_app.store import trouble
from sessions_app.store.trouble import Busy, Kind, trouble_of
from tests.support.postgres import PostgresServer


def kind_of(error: BaseException) -> Kind | None:
    found = trouble_of(error)
    return found.kind if found else None


def sqlite(file: Path | str, **options: Any) -> Sqlite:
    """Django's own connection to a file."""
    return Sqlite(
        {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(file),
            "OPTIONS": {"timeout": 0, **options},
            "AUTOCOMMIT": True,
            "ATOMIC_REQUESTS": False,
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": False,
            "TIME_ZONE": None,
            "TEST": {},
        },
        "storage-test",
    )


def refusal(wrapper: Any, *statements: str) -> DatabaseError:
    """How the last of the statements fails."""
    with closing(wrapper), wrapper.cursor() as cursor:
        for statement in statements[:-1]:
            cursor.execute(statement)
        with pytest.raises(DatabaseError) as caught:
            cursor.execute(statements[-1])
    return caught.value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "database"
    with closing(sqlite3.connect(made)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    return made


def test_a_locked_file_is_busy(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert kind_of(refusal(sqlite(file), "INSERT INTO t VALUES (1)")) is Kind.BUSY


def test_a_file_that_may_not_grow_is_full(file: Path) -> None:
    insert = "INSERT INTO t VALUES (zeroblob(100000))"
    assert kind_of(refusal(sqlite(file), "PRAGMA max_page_count = 4", insert)) is Kind.FULL


def test_a_file_that_may_not_be_written_has_failed(file: Path) -> None:
    assert kind_of(refusal(sqlite(f"file:{file}?mode=ro"), "INSERT INTO t VALUES (1)")) is Kind.FAILED


def test_what_is_no_database_has_failed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no database" * 1_000)
    with pytest.raises(DatabaseError) as caught:
        sqlite(other).cursor().execute("SELECT 1 FROM t")
    assert kind_of(caught.value) is Kind.FAILED


def test_a_folder_that_is_gone_has_failed(tmp_path: Path) -> None:
    with pytest.raises(OperationalError) as caught:
        sqlite(tmp_path / "gone" / "database").cursor()
    assert kind_of(caught.value) is Kind.FAILED


def test_an_error_of_the_disk_is_a_full_one_where_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    cause = sqlite3.OperationalError("disk I/O error")
    cause.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    error = OperationalError(*cause.args)
    error.__cause__ = cause
    assert kind_of(error) is Kind.FAILED
    monkeypatch.setattr(trouble, "FULL_BELOW_BYTES", 2**62)
    assert kind_of(error) is Kind.FULL


def test_a_fault_of_ours_is_no_trouble(file: Path) -> None:
    assert kind_of(refusal(sqlite(file), "SELECT 1 FROM nothing")) is None
    assert kind_of(ProgrammingError("relation does not exist")) is None
    assert kind_of(ValueError("no database at all")) is None


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Postgres]:
    entry = postgresql(postgres_url, 4, 1, 30)
    pool: Any = entry["OPTIONS"].pop("pool")
    assert pool["timeout"] == 1
    entry.update(AUTOCOMMIT=True, ATOMIC_REQUESTS=False, CONN_MAX_AGE=None, TIME_ZONE=None, TEST={})
    wrapper = Postgres(entry, "storage-test")
    yield wrapper
    wrapper.close()


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        (["SET default_transaction_read_only = on", "CREATE TABLE t (x int)"], Kind.READ_ONLY),
        (["SET statement_timeout = '1ms'", "SELECT pg_sleep(60)"], Kind.BUSY),
        (["SELECT pg_terminate_backend(pg_backend_pid())"], Kind.AWAY),
        (["SELECT * FROM nothing"], None),
        (["SELECT 1 / 0"], None),
    ],
)
def test_postgresql_says_by_its_state_what_is_the_matter(
    postgres: Postgres, statements: list[str], kind: Kind | None
) -> None:
    assert kind_of(refusal(postgres, *statements)) is kind


def test_a_server_that_is_not_there_is_away(postgres_server: PostgresServer) -> None:
    entry = postgresql("postgresql://nobody@127.0.0.1:1/nothing", 4, 1, 30)
    entry["OPTIONS"].pop("pool")
    entry.update(AUTOCOMMIT=True, CONN_MAX_AGE=None, TIME_ZONE=None, TEST={})
    with pytest.raises(OperationalError) as caught:
        Postgres(entry, "storage-test").cursor()
    assert kind_of(caught.value) is Kind.AWAY


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Busy("no time"), Kind.BUSY),
        (InterfaceError("connection already closed"), Kind.AWAY),
        (OSError(errno.ENOSPC, "No space left on device"), Kind.FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), Kind.FULL),
        (OSError(errno.EROFS, "Read-only file system"), Kind.FAILED),
        (OSError(errno.EMFILE, "Too many open files"), Kind.BUSY),
        (FileNotFoundError(errno.ENOENT, "No such file"), None),
    ],
)
def test_other_errors_are_told_by_what_they_are(error: Exception, kind: Kind | None) -> None:
    assert kind_of(error) is kind


def test_every_trouble_is_a_503_with_a_time_and_says_nothing_of_the_error() -> None:
    for found in trouble.TROUBLES.values():
        problem = found.problem()
        assert problem.status == 503
        assert problem.retry_after_seconds
        assert problem.code in ("unavailable", "storage_full", "storage_failed")
