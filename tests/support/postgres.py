"""A PostgreSQL server as tests use it, whoever started it: it makes databases and drops them."""

from __future__ import annotations

import secrets

import psycopg
from psycopg import conninfo, sql


class PostgresServer:
    """`url` is that of a database which may make others."""

    def __init__(self, url: str) -> None:
        self.url = url

    def new_database(self) -> str:
        """A fresh, empty database; its URL."""
        name = f"albedo_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        parts = conninfo.conninfo_to_dict(self.url)
        user, password = parts.get("user", "postgres"), parts.get("password", "")
        login = f"{user}:{password}" if password else f"{user}"
        return f"postgresql://{login}@{parts.get('host', '127.0.0.1')}:{parts.get('port', 5432)}/{name}"

    def drop(self, url: str) -> None:
        name = str(conninfo.conninfo_to_dict(url)["dbname"])
        with psycopg.connect(self.url, autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(drop.format(sql.Identifier(name)))
