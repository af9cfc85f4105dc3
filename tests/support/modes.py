"""Servers of the mode that the acceptance tests are about: `ALBEDO_TEST_MODE` is `embedded` or `distributed`.

The same tests run on either. What only one of them has says so by the marker `embedded`, with a reason.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.distributed import LeapingWhole, SharingWhole, needs_nginx
from tests.support.server import LeapingServer, ServerProcess, StartServer
from tests.support.services import PostgresServer, RedisNumbers

MODES = ("embedded", "distributed")
MODE = os.environ.get("ALBEDO_TEST_MODE") or MODES[0]

Leaping = LeapingServer | LeapingWhole


class Servers(ABC):
    """Makes servers, which are not started yet."""

    @abstractmethod
    def make(self, data_dir: Path, **environment: str) -> ServerProcess: ...

    @abstractmethod
    def make_leaping(self, data_dir: Path, **environment: str) -> Leaping:
        """One whose actors' clock goes on by `LEAP_SECONDS` at each `leap`."""

    @contextmanager
    def running(self, data_dir: Path, **environment: str) -> Iterator[ServerProcess]:
        with self.make(data_dir, **environment) as server:
            yield server


class Embedded(Servers):
    def make(self, data_dir: Path, **environment: str) -> ServerProcess:
        return ServerProcess(data_dir, **environment)

    def make_leaping(self, data_dir: Path, **environment: str) -> Leaping:
        return LeapingServer(data_dir, **environment)


class Distributed(Servers):
    """Each on a database and a Redis number of its own."""

    def __init__(self, postgres: PostgresServer, redis: RedisNumbers) -> None:
        self._postgres = postgres
        self._redis = redis

    def make(self, data_dir: Path, **environment: str) -> ServerProcess:
        return SharingWhole(self._postgres, self._redis, data_dir, **environment)

    def make_leaping(self, data_dir: Path, **environment: str) -> Leaping:
        return LeapingWhole(self._postgres, self._redis, data_dir, **environment)


@pytest.fixture(scope="session")
def distributed_servers(postgres_server: PostgresServer, redis_url: str) -> Servers:
    needs_nginx()
    return Distributed(postgres_server, RedisNumbers(redis_url))


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Servers:
    """Those of `ALBEDO_TEST_MODE`."""
    if MODE not in MODES:
        raise pytest.UsageError(f"ALBEDO_TEST_MODE is one of {', '.join(MODES)}")
    if MODE == "embedded":
        return Embedded()
    made: Servers = request.getfixturevalue("distributed_servers")
    return made


@pytest.fixture(scope="module")
def server(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for the tests of a module, which leave it running."""
    with servers.running(tmp_path_factory.mktemp("server") / "data") as running:
        yield running


@pytest.fixture
def make_server(servers: Servers, tmp_path: Path) -> Iterator[StartServer]:
    """Servers with given environment variables, each on data of its own unless `data_dir` is given."""
    with ExitStack() as made:
        numbers = iter(range(100))

        def make(data_dir: Path | None = None, **environment: str) -> ServerProcess:
            server = servers.make(data_dir or tmp_path / f"server-{next(numbers)}", **environment)
            made.callback(server.close)
            return server

        yield make


@pytest.fixture
def start_server(make_server: StartServer) -> StartServer:
    """The same, started."""

    def start(*args: Any, **options: Any) -> ServerProcess:
        return make_server(*args, **options).start()

    return start


@pytest.fixture
def fresh_server(start_server: StartServer) -> ServerProcess:
    """A server of this test alone: it may be killed."""
    return start_server()
