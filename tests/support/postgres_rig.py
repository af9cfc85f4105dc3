"""The distributed mode on a PostgreSQL that a test may ill-treat, each process behind a line of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

from tests.support.cluster import Cluster, Web
from tests.support.cut_proxy import CutProxy
from tests.support.own_postgres import OwnPostgres
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

# The processes' own account: a superuser passes over the limits that are set for others.
ACCOUNT, DATABASE = "app", "albedo"


class Line(CutProxy):
    """A process's way to the database."""

    @property
    def database_url(self) -> str:
        return f"postgresql://{ACCOUNT}@127.0.0.1:{self.port}/{DATABASE}"


class PostgresRig:
    """Makes web processes and hosts with `settings` of theirs; `lines` are theirs, in order of making."""

    def __init__(self, postgres: OwnPostgres, cluster: Cluster, stack: ExitStack) -> None:
        self.postgres = postgres
        self.cluster = cluster
        self._stack = stack

    def line(self) -> Line:
        return self._stack.enter_context(Line(self.postgres.url))

    def web(self, line: Line, **settings: str) -> Web:
        return self.cluster.web(DATABASE_URL=line.database_url, **settings)

    def host(self, line: Line, **settings: str) -> Any:
        return self.cluster.host(DATABASE_URL=line.database_url, **settings)

    def session(self, web: Web, **fields: Any) -> SessionClient:
        return SessionClient.create(cast(ServerProcess, web), **fields)


@contextmanager
def postgres_rig(folder: Path, postgres: OwnPostgres, redis_url: str) -> Iterator[PostgresRig]:
    postgres.run(f"CREATE ROLE {ACCOUNT} LOGIN")
    postgres.run(f"CREATE DATABASE {DATABASE} OWNER {ACCOUNT}")
    direct = f"postgresql://{ACCOUNT}@127.0.0.1:{postgres.port}/{DATABASE}"
    with ExitStack() as stack:
        cluster = Cluster(folder, direct, redis_url)
        try:
            yield PostgresRig(postgres, cluster, stack)
        finally:
            # Before its lines: what ends in order needs its database.
            cluster.close()
