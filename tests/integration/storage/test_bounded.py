"""Connections to a PostgreSQL that takes everything and says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import OperationalError
from django.db.backends.postgresql.base import DatabaseWrapper

from albedo_project import bounded_postgresql
from albedo_project.bounded_postgresql import BoundedConnection, bounded_connection, unhurried
from albedo_project.databases import postgresql
from tests.support.cut_proxy import CutProxy

SOON = 0.2


@pytest.fixture
def line(postgres_url: str) -> Iterator[CutProxy]:
    with CutProxy(postgres_url) as proxy:
        yield proxy


def conninfo_url(postgres_url: str, line: CutProxy) -> str:
    parts = urlsplit(postgres_url)
    return parts._replace(netloc=f"{parts.username}@127.0.0.1:{line.port}").geturl()


def test_a_silent_server_is_given_up_and_its_connection_with_it(postgres_url: str, line: CutProxy) -> None:
    connection = bounded_connection(60).connect(conninfo_url(postgres_url, line))
    assert connection.execute("SELECT 1").fetchone() == (1,)
    line.lose()
    connection.patience = SOON
    with pytest.raises(psycopg.OperationalError, match="did not answer in time"):
        connection.execute("SELECT 2")
    assert connection.closed
    with pytest.raises(psycopg.OperationalError, match="closed"):
        connection.execute("SELECT 3")


def test_a_server_that_answers_slowly_is_waited_for_where_time_does_not_matter(postgres_url: str) -> None:
    hasty = bounded_connection(SOON).connect(postgres_url, autocommit=True)
    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        hasty.execute("SELECT pg_sleep(30)")
    with bounded_connection(SOON).connect(postgres_url, autocommit=True) as connection:
        connection.patience = None
        assert connection.execute("SELECT 1, pg_sleep(1)").fetchone() is not None


def test_a_pool_finds_out_soon_that_a_connection_leads_nowhere(
    postgres_url: str, line: CutProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_postgresql, "ALIVE_SECONDS", SOON)
    entry = postgresql(conninfo_url(postgres_url, line), 1, 1, 600)
    entry.update(AUTOCOMMIT=True, CONN_MAX_AGE=0, TIME_ZONE=None, TEST={})
    pooled = DatabaseWrapper(entry, "storage-pool-test")
    try:
        used(pooled)
        line.lose()
        with pytest.raises(OperationalError):
            pooled.cursor()
        line.mend()
        used(pooled)
    finally:
        pooled.close_pool()


def used(pooled: DatabaseWrapper) -> None:
    """However long it takes until it has a connection."""
    while True:
        try:
            with pooled.cursor() as cursor:
                cursor.execute("SELECT 1")
                assert cursor.fetchone() == (1,)
            # Back into the pool, where it waits to be asked whether it lives.
            pooled.close()
            return
        except OperationalError:
            continue


def wrapper(postgres_url: str, statement_seconds: float) -> DatabaseWrapper:
    entry = postgresql(postgres_url, 2, 1, statement_seconds)
    pool: dict[str, Any] = entry["OPTIONS"].pop("pool")
    assert issubclass(pool["connection_class"], BoundedConnection)
    entry.update(AUTOCOMMIT=True, CONN_MAX_AGE=None, TIME_ZONE=None, TEST={}, CONN_HEALTH_CHECKS=False)
    return DatabaseWrapper(entry, "storage-test")


def setting(connection: Any, name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return str(cursor.fetchone()[0])


def test_the_server_ends_long_statements_waits_and_forgotten_transactions_itself(postgres_url: str) -> None:
    connection = wrapper(postgres_url, 20)
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    assert [setting(connection, name) for name in names] == ["20s", "15s", "1min"]
    connection.close()


def test_a_migration_has_all_the_time_that_it_takes_and_leaves_no_such_connection(postgres_url: str) -> None:
    connection = wrapper(postgres_url, 20)
    with unhurried(connection):
        assert setting(connection, "statement_timeout") == "0"
    assert connection.connection is None
    assert setting(connection, "statement_timeout") == "20s"
    connection.close()


def test_what_the_url_says_wins(postgres_url: str) -> None:
    connection = wrapper(f"{postgres_url}?options=-c%20statement_timeout%3D7s", 20)
    assert setting(connection, "statement_timeout") == "7s"
    assert setting(connection, "lock_timeout") == "15s"
    connection.close()
