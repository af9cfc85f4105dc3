"""A database whose files are watched: what takes them away is noticed, what other programs may do is not."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from albedo_project.guarded_sqlite3 import watch
from albedo_project.guarded_sqlite3.base import DatabaseWrapper
from albedo_project.guarded_sqlite3.watch import FilesLost, Watch

ROWS = 50


def log_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def index_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-shm")


def insert(database: Path, rows: int = ROWS) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 200,)] * rows)
        connection.commit()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "database"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    return file


@pytest.fixture
def watched(database: Path) -> Iterator[Watch]:
    made = Watch(database)
    insert(database)
    yield made
    made.close()


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    os.rename(copy, file)


def empty(file: Path) -> None:
    os.truncate(file, 0)


@pytest.mark.parametrize("harm", [remove, replace, empty])
@pytest.mark.parametrize("which", [lambda file: file, log_of], ids=["database", "log"])
def test_what_loses_writes_is_noticed_and_said_once(
    database: Path,
    watched: Watch,
    caplog: pytest.LogCaptureFixture,
    which: Callable[[Path], Path],
    harm: Callable[[Path], None],
) -> None:
    watched.check()
    harm(which(database))
    for _ in range(3):
        with pytest.raises(FilesLost):
            watched.check()
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]


def test_an_index_that_is_gone_is_noticed(database: Path, watched: Watch) -> None:
    index_of(database).unlink()
    with pytest.raises(FilesLost):
        watched.check()


def test_a_log_that_was_cut_in_the_middle_is_noticed(database: Path, watched: Watch) -> None:
    os.truncate(log_of(database), log_of(database).stat().st_size - 1)
    with pytest.raises(FilesLost, match="cut"):
        watched.check()


def test_a_file_that_is_put_back_is_the_same_again(database: Path, watched: Watch, tmp_path: Path) -> None:
    away = tmp_path / "away"
    os.rename(database, away)
    with pytest.raises(FilesLost):
        watched.check()
    os.rename(away, database)
    watched.check()


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA wal_checkpoint(RESTART)",
        "PRAGMA wal_checkpoint(PASSIVE)",
        "VACUUM",
        "DELETE FROM t",
    ],
)
def test_what_another_program_may_do_is_no_loss(database: Path, watched: Watch, statement: str) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute(statement).fetchall()
    watched.check()
    insert(database)
    watched.check()
    with closing(sqlite3.connect(database)) as connection:
        backup = sqlite3.connect(database.with_name("backup"))
        with closing(backup):
            connection.backup(backup)
    watched.check()


def test_the_last_one_puts_its_log_away(database: Path) -> None:
    made = Watch(database)
    insert(database)
    assert log_of(database).exists()
    made.close()
    assert not log_of(database).exists()


def wrapper(database: Path) -> DatabaseWrapper:
    return DatabaseWrapper(
        {
            "ENGINE": "albedo_project.guarded_sqlite3",
            "NAME": str(database),
            "OPTIONS": {"init_command": ""},
            "AUTOCOMMIT": True,
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": False,
            "TIME_ZONE": None,
            "TEST": {},
        },
        "storage-test",
    )


def test_a_place_where_a_database_was_gets_no_empty_one(database: Path) -> None:
    watch.begin(database)
    watch.end()
    database.unlink()
    with pytest.raises(FilesLost, match=str(watch.marker_of(database))):
        watch.refuse_forgotten(database)
    connection = wrapper(database)
    with pytest.raises(Exception, match="missing or empty"):
        connection.cursor()
    assert not database.exists()
    watch.marker_of(database).unlink()
    watch.refuse_forgotten(database)
    with closing(connection), connection.cursor() as cursor:
        cursor.execute("PRAGMA auto_vacuum")
        # A new file can give space back in steps.
        assert cursor.fetchone() == (2,)


def test_the_marker_is_its_owner_s_and_says_what_it_is_for(database: Path) -> None:
    watch.begin(database)
    watch.end()
    marker = watch.marker_of(database)
    assert marker.stat().st_mode & 0o777 == 0o600
    assert "does not" in marker.read_text()
