"""The schema is what the models say, on both databases."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command

from tests.support.commands import run_python
from tests.support.services import PostgresServer


@pytest.mark.django_db
def test_no_model_change_is_without_its_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_postgresql_takes_every_migration_through_the_pool(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.new_database()
    result = run_python("manage.py", "migrate", DATA_DIR=str(tmp_path), DATABASE_URL=url)
    assert result.returncode == 0, result.stderr
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) FROM django_migrations WHERE app = 'sessions_app'"
        row = connection.execute(query).fetchone()
    postgres_server.drop(url)
    assert row is not None
    assert row[0] > 0


def test_sqlite_s_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    result = run_python("manage.py", "migrate", DATA_DIR=str(data))
    assert result.returncode == 0, result.stderr
    open_to_others = [path for path in (data, *data.rglob("*")) if path.stat().st_mode & 0o077]
    assert open_to_others == []
