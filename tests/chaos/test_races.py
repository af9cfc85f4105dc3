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
from tests.chaos.seeds import MANY, row
from tests.chaos.target import DEFAULT_LEASES


@pytest.mark.timeout(600)
@row("F08", seeds=1)
def test_f08_many_hosts_race_for_many_sessions(seed: int, tmp_path: Path, make_cluster: MakeCluster) -> None:
    """All are let go at once on sessions that nobody ever held: each gets one owner, one life, one run."""
    hosts = int(os.environ.get("CHAOS_HOSTS") or (8 if MANY else 3))
    count = int(os.environ.get("CHAOS_SESSIONS") or (200 if MANY else 24))
    with Rig(make_cluster(webs=1, hosts=hosts, **DEFAULT_LEASES), seed, tmp_path) as rig:
        processes = rig.target.actor_processes()
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        users = rig.sessions(count)
        tool = {user.session: rig.rng.random() < 0.1 for user in users}
        plans = {user.session: racing_plan(rig, with_tool=tool[user.session]) for user in users}
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda user: user.ask(plans[user.session]), users))
        for process in processes:
            process.send_signal(signal.SIGCONT)
        history = rig.check()
        owners = {
            row[0] for row in rig.target.database.rows("SELECT DISTINCT host FROM sessions_app_session")
        }
        generations = rig.target.database.rows("SELECT DISTINCT generation FROM sessions_app_session")
    assert generations == [(1,)]
    assert [len(final.runs) for final in history.finals] == [1] * count
    assert {run.state for final in history.finals for run in final.runs} == {"completed"}
    assert len(history.ledger) == sum(tool.values())
    assert len(owners) > 1, "one host was so fast that nobody raced it"


def racing_plan(rig: Rig, *, with_tool: bool) -> Plan:
    return rig.plan(Step(words=2, calls=(QUICK,)), Step()) if with_tool else rig.plan(Step(words=2))
