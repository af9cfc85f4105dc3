"""PostgreSQL connections that wait for an answer only so long.

TCP notices a peer that is gone, not one that takes everything and says nothing: a process that stands still,
a proxy that swallows. Such a connection would keep its thread for ever. Here it is closed, and that is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.abc import PQGen, Query

# The pool asks of each connection that it hands out whether it still lives; that takes a round trip.
ALIVE_SECONDS = 3.0
_INTERVAL_SECONDS = 0.1


class BoundedConnection(psycopg.Connection[Any]):
    """`answer_seconds` bounds each wait for the server; None, set on a connection, waits for ever."""

    answer_seconds: ClassVar[float] = 25.0
    patience: float | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.patience = self.answer_seconds

    def wait(self, gen: PQGen[Any], interval: float = _INTERVAL_SECONDS, timeout: float | None = None) -> Any:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.patience)
        except psycopg.errors._WaitTimeout:
            # Whatever comes now is an answer to a question that nobody remembers.
            self.pgconn.finish()
            raise psycopg.OperationalError("the database did not answer in time") from None

    def execute(self, query: Query, *args: Any, **kwargs: Any) -> psycopg.Cursor[Any]:
        if query != "":
            return super().execute(query, *args, **kwargs)
        patience, self.patience = self.patience, ALIVE_SECONDS
        try:
            return super().execute(query, *args, **kwargs)
        finally:
            self.patience = patience


def bounded_connection(answer_seconds: float) -> type[BoundedConnection]:
    """The class for a pool whose connections wait this long."""
    return type("BoundedConnection", (BoundedConnection,), {"answer_seconds": answer_seconds})


@contextmanager
def unhurried(wrapper: BaseDatabaseWrapper) -> Iterator[None]:
    """Let statements of this connection take their time: a migration may have to rewrite a large table."""
    if wrapper.vendor != "postgresql":
        yield
        return
    with wrapper.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0; SET lock_timeout = 0")
    raw: Any = wrapper.connection
    raw.patience = None
    try:
        yield
    finally:
        # The pool would give it to somebody else as it is.
        raw.close()
        wrapper.close()
