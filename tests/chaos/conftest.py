"""The targets, shared by all rows of a worker, and a fresh rig for each trial."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.rig import Rig
from tests.chaos.seeds import replay
from tests.chaos.target import Distributed, Embedded, Target
from tests.chaos.whole import Whole
from tests.support.distributed import needs_nginx
from tests.support.services import PostgresServer, RedisNumbers

MakeCluster = Callable[..., Distributed]

TRIAL_SECONDS = 400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A trial waits for many servers; a hang is still seen."""
    for item in items:
        if replay(item) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TRIAL_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """A failure says how it is tried again."""
    report = yield
    if report.failed and (command := replay(item)):
        report.sections.append(("how to try this seed again", command))
    return report


@pytest.fixture(scope="package")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The embedded server. A row may kill it: the next rig starts it again on the same data."""
    target = Embedded(tmp_path_factory.mktemp("embedded"))
    yield target
    target.close()


@pytest.fixture(scope="package")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_url: str
) -> Iterator[Distributed]:
    """Two web processes and two hosts, with short leases."""
    url = postgres_server.new_database()
    target = Distributed(tmp_path_factory.mktemp("cluster"), url, redis_url)
    yield target
    target.close()
    postgres_server.drop(url)


@pytest.fixture(scope="package")
def whole(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_url: str
) -> Iterator[Whole]:
    """What `make run-distributed` starts."""
    needs_nginx()
    target = Whole(tmp_path_factory.mktemp("whole"), postgres_server, RedisNumbers(redis_url))
    yield target
    target.close()


@pytest.fixture
def make_cluster(tmp_path: Path, postgres_server: PostgresServer, redis_url: str) -> Iterator[MakeCluster]:
    """`make_cluster(webs=1, hosts=3, **environment)`: one of the trial's own, not started."""
    made: list[tuple[Distributed, str]] = []

    def make(**options: Any) -> Distributed:
        url = postgres_server.new_database()
        folder = tmp_path / f"cluster-{len(made)}"
        folder.mkdir()
        made.append((Distributed(folder, url, redis_url, **options), url))
        return made[-1][0]

    yield make
    for target, url in made:
        target.close()
        postgres_server.drop(url)


@pytest.fixture
def rig(seed: int, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A trial on the embedded server, or on the target that `CHAOS_TARGET` names."""
    target: Target = request.getfixturevalue(os.environ.get("CHAOS_TARGET") or "embedded")
    with Rig(target, seed, tmp_path) as made:
        yield made


@pytest.fixture
def cluster_rig(seed: int, tmp_path: Path, cluster: Distributed) -> Iterator[Rig]:
    """A trial of what takes more than one process."""
    with Rig(cluster, seed, tmp_path) as made:
        yield made
