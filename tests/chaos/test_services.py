"""Redis and PostgreSQL end, come back empty, or were never there, while users of a cluster work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.load import ENDS, Load
from tests.chaos.reader import Reader
from tests.chaos.rig import Rig
from tests.chaos.seeds import MANY, row
from tests.chaos.target import DEFAULT_LEASES, Distributed
from tests.support.layer_trouble import away, commanded
from tests.support.own_postgres import OwnPostgres, postgres_cluster
from tests.support.services import RedisServer, start_redis

TROUBLES = ("FLUSHALL", "CLIENT KILL TYPE pubsub", "CLIENT KILL TYPE normal")


@dataclass(frozen=True, slots=True)
class Services:
    """A cluster on services that are its own. Each trial leaves both up and answering."""

    target: Distributed
    redis: RedisServer
    postgres: OwnPostgres


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("services")
    with ExitStack() as stack:
        redis = start_redis(folder)
        stack.callback(redis.stop)
        postgres = stack.enter_context(postgres_cluster())
        # No lease is to end for want of a turn: a run that is left was left because of the fault.
        target = Distributed(folder, postgres.new_database(), redis.url, 2, 2, **DEFAULT_LEASES)
        stack.callback(target.close)
        yield Services(target, redis, postgres)


@pytest.fixture
def services_rig(seed: int, tmp_path: Path, services: Services) -> Iterator[Rig]:
    with Rig(services.target, seed, tmp_path) as made:
        yield made


def unbroken(readers: list[Reader]) -> None:
    """Nobody had to come back, and nobody was told to begin anew."""
    assert {reader.connections for reader in readers} == {1}
    told_nothing_new(readers)


def told_nothing_new(readers: list[Reader]) -> None:
    assert [data["reason"] for reader in readers for data in reader.of("reset")] == ["initial"] * len(readers)


@row("F31", seeds=1)
def test_f31_redis_is_gone_for_a_while_and_knows_nothing_after(services_rig: Rig, services: Services) -> None:
    """Inputs are accepted and answered all the while, and readers notice nothing but that it takes longer."""
    load = Load(services_rig)
    readers = load.readers()
    with load.on():
        for _ in range(5 if MANY else 1):
            load.goes_on()
            with away(services.redis):
                load.goes_on()
            load.goes_on()
    services_rig.check()
    unbroken(readers)
    assert load.said() <= {429}
    assert set(load.run_states()) == {"completed"}


@row("F32", seeds=1)
def test_f32_redis_is_emptied_and_cuts_its_clients_again_and_again(
    services_rig: Rig, services: Services
) -> None:
    load = Load(services_rig)
    readers = load.readers()
    with load.on():
        for command in services_rig.rng.choices(TROUBLES, k=40 if MANY else 4):
            commanded(services.redis, *command.split())()
            load.goes_on()
    services_rig.check()
    unbroken(readers)
    assert load.said() <= {429}
    assert set(load.run_states()) == {"completed"}


@row("F34", seeds=1)
def test_f34_redis_is_not_there_when_all_starts(seed: int, tmp_path: Path, services: Services) -> None:
    """What is asked is answered; those who would read are let in as soon as it is there."""
    services.target.kill9()
    with ExitStack() as stack:
        missing = stack.enter_context(ExitStack())
        missing.enter_context(away(services.redis))
        rig = stack.enter_context(Rig(services.target, seed, tmp_path))
        load = Load(rig)
        assert rig.api("GET", "/api/health").json() == {"status": "degraded", "faults": ["layer"]}
        threads = stack.enter_context(ThreadPoolExecutor(1))
        with load.on():
            load.goes_on()
            knocking = threads.submit(load.readers)
            load.goes_on()
            assert [reader.cursor for reader in rig.readers if reader.cursor] == []
            missing.close()
            readers = knocking.result()
            load.goes_on()
        rig.check()
        told_nothing_new(readers)
        assert load.said() <= {429}
        assert set(load.run_states()) == {"completed"}


@row("F36", seeds=1)
def test_f36_postgres_crashes_again_and_again(services_rig: Rig, services: Services) -> None:
    """Every connection breaks in the middle of whatever it was at; all that was accepted is there after."""
    load = Load(services_rig)
    load.readers()
    with load.on():
        for _ in range(20 if MANY else 3):
            load.goes_on()
            services.postgres.crash()
            time.sleep(services_rig.rng.uniform(0, 0.5))
            services.postgres.start()
        load.goes_on()
    services_rig.check()
    assert load.said() <= {429, 503}
    assert set(load.run_states()) <= ENDS
