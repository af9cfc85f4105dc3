"""The database entry, and that a connection really has what it says."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections, transaction
from django.db.utils import OperationalError

from albedo_project.databases import postgresql


def test_a_url_becomes_an_entry() -> None:
    entry = postgresql("postgresql://me:p%40ss@db.example:6432/live%20one?sslmode=require", 9, 20, 30)
    assert entry["NAME"] == "live one"
    assert (entry["USER"], entry["PASSWORD"]) == ("me", "p@ss")
    assert (entry["HOST"], entry["PORT"]) == ("db.example", "6432")
    assert entry["OPTIONS"]["sslmode"] == "require"
    assert entry["OPTIONS"]["pool"]["max_size"] == 9


def test_a_socket_s_folder_is_a_host() -> None:
    entry = postgresql("postgres:///albedo?host=/run/postgresql", 2, 20, 30)
    assert (entry["HOST"], entry["PORT"]) == ("/run/postgresql", "")
    assert "host" not in entry["OPTIONS"]


def test_several_servers_and_which_of_them_are_named_in_the_query() -> None:
    query = "host=one,two&port=5432,5433&target_session_attrs=read-write&connect_timeout=2"
    entry = postgresql(f"postgresql://albedo@/albedo?{query}", 2, 20, 30)
    assert (entry["HOST"], entry["PORT"]) == ("one,two", "")
    options = entry["OPTIONS"]
    assert (options["port"], options["target_session_attrs"]) == ("5432,5433", "read-write")
    assert options["connect_timeout"] == "2"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://a:secret@b/c",
        "postgresql://a:secret@b/",
        "postgresql://a:secret@b:port/c",
        "secret",
        "http://[",
    ],
)
def test_a_url_that_is_none_is_refused_unseen(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as caught:
        postgresql(url, 2, 20, 30)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)]
)
@pytest.mark.django_db(transaction=True)
def test_sqlite_keeps_what_it_accepted(pragma: str, value: object) -> None:
    with connection.cursor() as cursor:
        assert cursor.execute(f"PRAGMA {pragma}").fetchone() == (value,)


@pytest.mark.django_db(transaction=True)
def test_a_sqlite_transaction_takes_its_lock_at_once() -> None:
    """Deferred, it would start, read, and fail at its first write whatever the timeout."""
    other = connections.create_connection("default")
    options = {**other.settings_dict["OPTIONS"], "timeout": 0}
    other.settings_dict = {**other.settings_dict, "OPTIONS": options}
    try:
        with transaction.atomic(), other.cursor() as cursor, pytest.raises(OperationalError, match="locked"):
            cursor.execute("BEGIN IMMEDIATE")
    finally:
        other.close()
