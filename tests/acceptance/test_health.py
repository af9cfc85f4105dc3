"""What `/api/health` says while something is away, on real servers: database, layer, hosts, the server."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import define_profile
from tests.support.cluster import Cluster, Web
from tests.support.own_postgres import OwnPostgres
from tests.support.processes import free_port, wait_for
from tests.support.scrape import Scraper
from tests.support.server import ServerProcess, StartServer
from tests.support.services import RedisServer
from tests.support.session import SessionClient

WELL = (200, {"status": "ok"})
TOKEN = "scrape-canary"
CALLERS = 60
# The store's own threads are started one by one as they are needed: a thread for each caller would be more.
FEW = CALLERS // 2


def degraded(*faults: str) -> tuple[int, Any]:
    return 200, {"status": "degraded", "faults": list(faults)}


def unavailable(*faults: str) -> tuple[int, Any]:
    return 503, {"status": "unavailable", "faults": list(faults)}


class Asker:
    """Asks as a balancer does, without a login."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=30, trust_env=False, verify=False)

    def __call__(self) -> tuple[int, Any]:
        answer = self._client.get("/api/health")
        assert (answer.status_code == 503) == ("retry-after" in answer.headers)
        return answer.status_code, answer.json()

    def sees(self, told: tuple[int, Any]) -> None:
        wait_for(lambda: self() == told, f"health says {told}, instead of {self()}", 60)

    def all_see(self, told: tuple[int, Any]) -> None:
        """Many at once."""
        with ThreadPoolExecutor(CALLERS) as pool:
            answers = list(pool.map(lambda _: self(), range(CALLERS)))
        assert answers == [told] * CALLERS

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def cluster(tmp_path: Path, own_postgres: OwnPostgres, own_redis: RedisServer) -> Iterator[Cluster]:
    made = Cluster(tmp_path, own_postgres.new_database(), own_redis.url)
    made.environment |= {"ALBEDO_METRICS_TOKEN": TOKEN, "ALBEDO_METRICS_PORT": str(free_port())}
    yield made
    if not own_postgres.answers():
        own_postgres.start()
    made.close()


def each_counts_what_it_did(web: Web, cluster: Cluster) -> None:
    """Inputs come through the web process, runs are the host's, which answers nothing else."""
    host_url = f"http://127.0.0.1:{cluster.environment['ALBEDO_METRICS_PORT']}"
    here, there = Scraper(web.url, TOKEN), Scraper(host_url, TOKEN)
    SessionClient.create(cast(ServerProcess, web)).answer("hello")
    for scrape, inputs, runs in ((here, 1, 0), (there, 0, 1)):
        assert scrape.value("albedo_inputs_accepted_total") == inputs
        assert scrape.value("albedo_runs_total", outcome="completed") == runs
        assert scrape.value("albedo_hosts_alive") == 1
        scrape.close()
    assert httpx.get(f"{host_url}/metrics", trust_env=False).status_code == 401
    for path in ("/", "/api/health", "/login/"):
        assert httpx.get(f"{host_url}{path}", trust_env=False).status_code == 404


def threads_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.timeout(300)
def test_a_web_process_says_what_of_its_services_is_away(
    cluster: Cluster, own_postgres: OwnPostgres, own_redis: RedisServer
) -> None:
    web = cluster.web()
    health = Asker(web.url)
    health.sees(degraded("hosts"))
    host = cluster.host()
    health.sees(WELL)
    each_counts_what_it_did(web, cluster)
    own_redis.stop()
    health.sees(degraded("layer"))
    # Whoever is sent here all the same is served.
    session = web.client().post("/api/sessions", json={}).raise_for_status().json()
    accepted = web.client().post(f"/api/sessions/{session['id']}/inputs", json={"text": "hello"})
    assert accepted.status_code == 202
    own_redis.start()
    health.sees(WELL)
    host.send_signal(signal.SIGTERM)
    assert host.wait(60) == 0
    # It said that it went: nobody waits for its time to run out.
    health.sees(degraded("hosts"))
    health.all_see(degraded("hosts"))
    threads = threads_of(web.process.pid)
    own_postgres.stop()
    health.sees(unavailable("database"))
    health.all_see(unavailable("database"))
    assert threads_of(web.process.pid) <= threads + FEW
    own_postgres.start()
    health.sees(degraded("hosts"))
    health.close()


@pytest.fixture(scope="module")
def health(server: ServerProcess) -> Iterator[Asker]:
    asker = Asker(server.url)
    yield asker
    asker.close()


@pytest.mark.embedded(reason="it locks SQLite's file")
def test_a_file_that_another_program_holds_takes_no_inputs(server: ServerProcess, health: Asker) -> None:
    health.all_see(WELL)
    threads = threads_of(server.pid)
    file = server.data_dir / "albedo.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        health.sees(unavailable("database"))
        health.all_see(unavailable("database"))
        assert threads_of(server.pid) <= threads + FEW
    health.sees(WELL)


@pytest.mark.embedded(reason="it takes SQLite's file away")
def test_a_file_that_was_taken_away_is_missed_and_its_return_is_noticed(
    server: ServerProcess, health: Asker
) -> None:
    file = server.data_dir / "albedo.sqlite3"
    away = file.with_name("elsewhere")
    file.rename(away)
    health.sees(unavailable("database"))
    away.rename(file)
    health.sees(WELL)


@pytest.mark.embedded(reason="the proxy here is stopped first")
def test_a_server_says_that_it_drains_before_it_refuses_connections(start_server: StartServer) -> None:
    server = start_server(ALBEDO_DRAIN_LISTEN_SECONDS="3600")
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)
        await Reply(Say("done"))(request, out)

    with ScriptedThread([slow]) as provider:
        session = SessionClient.create(
            server, provider=define_profile(server, provider.base_url, "responses")
        )
        session.ask("write")
        assert held.reached.wait_in_thread(30)
        before = Asker(server.url)
        assert before() == WELL
        os.kill(server.pid, signal.SIGTERM)
        draining = (503, {"status": "draining", "faults": []})
        before.sees(draining)
        # A connection of its own, as a balancer makes one.
        late = Asker(server.url)
        assert late() == draining
        held.release.set()
        before.close()
        late.close()
        server.kill9()
