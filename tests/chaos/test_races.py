"""Many hosts that want the same sessions at the same moment."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.chaos.conftest import MakeCluster
from tests.chaos.ledger import QUICK
from tests.chaos.plan import Plan, Step
from tests.chaos.rig import Rig
from tests.chaos.seeds import row
from tests.chaos.target import DEFAULT_LEASES

# By environment variable, as there may be another machine: hosts, sessions.
SCALE = {"CHAOS_HOSTS": 8, "CHAOS_SESSIONS": 200}


@row("F08", seeds=1)
def test_f08_hosts_race_for_sessions(cluster_rig: Rig) -> None:
    race(cluster_rig, 24)


@pytest.mark.timeout(900)
@row("F08", seeds=0)
def test_f08_many_hosts_race_for_many_sessions(seed: int, tmp_path: Path, make_cluster: MakeCluster) -> None:
    hosts, sessions = (int(os.environ.get(name) or usual) for name, usual in SCALE.items())
    with Rig(make_cluster(webs=1, hosts=hosts, **DEFAULT_LEASES), seed, tmp_path) as rig:
        race(rig, sessions)


def race(rig: Rig, count: int) -> None:
    """All are let go at once on sessions that nobody ever held: each gets one owner, one life, one run."""
    processes = rig.target.actor_processes()
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    users = rig.sessions(count)
    plans = {user.session: racing_plan(rig, with_tool=rig.rng.random() < 0.1) for user in users}
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda user: user.ask(plans[user.session]), users))
    for process in processes:
        process.send_signal(signal.SIGCONT)
    history = rig.check()
    assert [len(final.runs) for final in history.finals] == [1] * count
    assert {(run.rank, run.state) for final in history.finals for run in final.runs} == {(1, "completed")}
    assert len(history.ledger) == sum(len(plan.steps) > 1 for plan in plans.values())


def racing_plan(rig: Rig, *, with_tool: bool) -> Plan:
    return rig.plan(Step(words=2, calls=(QUICK,)), Step()) if with_tool else rig.plan(Step(words=2))
