"""The target's database from beside it: read what the API does not tell, and hold its next commit back."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

SESSIONS = "sessions_app_session"


class Database(ABC):
    """Queries have `%s` for parameters; ids go in and come out as the API writes them."""

    @abstractmethod
    def rows(self, query: LiteralString, *parameters: Any) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def write(self, query: LiteralString, *parameters: Any) -> int:
        """Change rows behind the product's back; how many."""

    @abstractmethod
    def hold(self, table: str = SESSIONS) -> Any:
        """A context in which nobody else commits a write; with PostgreSQL, none that touches `table`."""

    @abstractmethod
    def key(self, session_id: str) -> Any:
        """An id as this database keeps it."""

    def count(self, query: LiteralString, *parameters: Any) -> int:
        return int(self.rows(query, *parameters)[0][0])


class Sqlite(Database):
    def __init__(self, file: Path) -> None:
        self.file = file

    def rows(self, query: LiteralString, *parameters: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=30)) as connection:
            return connection.execute(query.replace("%s", "?"), parameters).fetchall()

    def write(self, query: LiteralString, *parameters: Any) -> int:
        with closing(sqlite3.connect(self.file, isolation_level=None, timeout=30)) as connection:
            return connection.execute(query.replace("%s", "?"), parameters).rowcount

    @contextmanager
    def hold(self, table: str = SESSIONS) -> Iterator[None]:
        with closing(sqlite3.connect(self.file, isolation_level=None, timeout=30)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                connection.rollback()

    def key(self, session_id: str) -> str:
        return UUID(session_id).hex


class Postgres(Database):
    def __init__(self, url: str) -> None:
        self._url = url

    def rows(self, query: LiteralString, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(query, parameters).fetchall()

    def write(self, query: LiteralString, *parameters: Any) -> int:
        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(query, parameters).rowcount

    @contextmanager
    def hold(self, table: str = SESSIONS) -> Iterator[None]:
        with psycopg.connect(self._url) as connection:
            lock = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table))
            connection.execute(lock)
            try:
                yield
            finally:
                connection.rollback()

    def key(self, session_id: str) -> str:
        return session_id
