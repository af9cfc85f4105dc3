"""Redis and PostgreSQL for tests: servers of our own on free ports, started when a test first asks.

`TEST_REDIS_URL` and `TEST_DATABASE_URL` name servers to use instead. Where there is neither a server nor
its program, the test is skipped and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from tests.support.own_postgres import postgres_cluster, postgres_programs
from tests.support.postgres import PostgresServer
from tests.support.processes import accepts, claimed, end, free_port, spawn, tail, wait_for

__all__ = [
    "PostgresServer",
    "RedisNumbers",
    "RedisServer",
    "own_redis",
    "postgres_programs",
    "postgres_server",
    "postgres_url",
    "redis_url",
    "start_redis",
]

# What a Redis has unless it is told otherwise.
NUMBERS = 16


class RedisServer:
    """One Redis that keeps nothing on disk; `stop` and `start` keep its port."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._folder / "redis.log"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        process = spawn([self._program, *options, "--dir", self._folder], log)
        self.process = process
        wait_for(lambda: accepts(self.port) or process.poll() is not None, "Redis answers")
        assert process.poll() is None, tail(log)

    def stop(self) -> None:
        if self.process is not None:
            end(self.process)
            self.process = None


class RedisNumbers:
    """The numbered databases of one Redis, lent out empty. What is published there, all numbers hear."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The URL of one that nobody has. 0 is for those who share."""
        for number in range(1, NUMBERS):
            lock = claimed(f"redis-{self._url.netloc}-{number}")
            if lock is not None:
                break
        else:
            raise AssertionError("every database of the Redis is in use")
        with lock, Redis.from_url(url := self._url._replace(path=f"/{number}").geturl()) as client:
            client.flushdb()
            yield url


def start_redis(folder: Path) -> RedisServer:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed and TEST_REDIS_URL is not set")
    server = RedisServer(program, folder)
    server.start()
    return server


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The suite's Redis. Tests that stop or flush it use `own_redis`."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given
        return
    server = start_redis(tmp_path_factory.mktemp("redis"))
    yield server.url
    server.stop()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of this test alone, to be stopped and started at will."""
    server = start_redis(tmp_path)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The suite's PostgreSQL."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield PostgresServer(given)
        return
    with postgres_cluster() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """One empty database, shared by the tests that ask for it."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop(url)
