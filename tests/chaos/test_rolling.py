"""Processes that are replaced one by one, as for a new version, while users work and readers read."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.chaos.client import Client
from tests.chaos.ledger import QUICK
from tests.chaos.plan import Plan, Step
from tests.chaos.reader import TRANSPORTS
from tests.chaos.rig import Rig
from tests.chaos.seeds import row
from tests.chaos.whole import Whole
from tests.support.processes import wait_for

USERS = 4
# More than can be answered while a process is replaced: users never wait for work.
INPUTS = 400


@row("F13", seeds=0)
def test_f13_replaced_one_by_one_under_load(seed: int, tmp_path: Path, whole: Whole) -> None:
    """Nobody is refused but with a 503 that says when to come again, and no run is left behind by a drain.

    What has no actors may also be killed.
    """
    with Rig(whole, seed, tmp_path) as rig:
        users = rig.sessions(USERS)
        for user in users:
            for transport in TRANSPORTS:
                rig.reader(user, transport)
        plans = {user.session: [plan_of(rig) for _ in range(INPUTS)] for user in users}
        enough = threading.Event()
        with ThreadPoolExecutor(USERS) as threads:
            working = [threads.submit(work, user, plans[user.session], enough) for user in users]
            try:
                places = [(kind, number) for kind in ("web", "actors") for number in (1, 2)] + [("nginx", 1)]
                rig.rng.shuffle(places)
                for kind, number in places:
                    drains = kind == "actors" or rig.rng.random() < 0.5
                    whole.replace(kind, number, signal.SIGTERM if drains else signal.SIGKILL)
            finally:
                enough.set()
            asked = sum(future.result() for future in working)
        assert asked >= len(places)
        rig.check()
        refusals = [answer for user in users for answer in user.answers if answer[0] >= 400]
        assert {status for status, _ in refusals} <= {503, 429}
        assert all(retry_after.isdigit() for _, retry_after in refusals)
        states = [run["state"] for user in users for run in user.runs()]
        assert set(states) <= {"completed", "interrupted"}
        assert rig.ledger.lines()


def plan_of(rig: Rig) -> Plan:
    words = rig.rng.randrange(2, 8)
    calls = (QUICK,) * rig.rng.randrange(2)
    return rig.plan(Step(words=words, calls=calls), *([Step()] if calls else []), pace_seconds=0.02)


def work(user: Client, plans: list[Plan], enough: threading.Event) -> int:
    """Ask, wait for the answer, ask again; how many."""
    for number, plan in enumerate(plans):
        if enough.is_set():
            return number
        input_id = user.ask(plan)
        wait_for(lambda asked=input_id: answered(user, asked), "the answer", 120)  # type: ignore[misc]
    return len(plans)


def answered(user: Client, input_id: str) -> bool:
    return user.get(f"/inputs/{input_id}")["outcome"] is not None
