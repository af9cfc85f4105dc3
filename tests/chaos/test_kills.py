"""Kill -9 at every kind of moment: what was accepted is answered once, what ran is not run again."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.chaos.client import Client
from tests.chaos.history import History
from tests.chaos.ledger import QUICK, wait_for_file
from tests.chaos.plan import Plan, Step
from tests.chaos.rig import Rig
from tests.chaos.seeds import MANY, row
from tests.support.processes import wait_for

QUEUE = 31 if MANY else 16


def run_states(history: History) -> list[str]:
    return [run.state for final in history.finals for run in final.runs]


def call_states(history: History) -> dict[str, str]:
    return {call.nonce: call.status for final in history.finals for call in final.calls}


def kernel_is_gone(rig: Rig, nonce: str) -> None:
    pid = rig.ledger.of(nonce)[0].pid
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), f"the end of kernel {pid}", 60)


@row("F01", seeds=1)
def test_f01_killed_while_answers_are_written(rig: Rig) -> None:
    """Sessions that stream at once are each cut at another word."""
    users = rig.sessions(6)
    for user in users:
        rig.reader(user)
        user.ask(rig.plan(Step(words=60), pace_seconds=0.01))
    rig.model.until_frames(rig.rng.randrange(1, 6 * 60))
    rig.target.kill9()
    rig.target.start()
    for user in users:
        user.ask(rig.plan())
    states = run_states(rig.check())
    assert states.count("completed") >= len(users)
    assert set(states) <= {"completed", "abandoned"}


@row("F02", seeds=1)
def test_f02_killed_right_after_inputs_are_accepted(rig: Rig) -> None:
    """So many acknowledgements came, and a few milliseconds later nothing is left of the process."""
    users = rig.sessions(12)
    deadly = rig.rng.randrange(1, len(users) + 1)
    with ThreadPoolExecutor(len(users)) as threads:
        asked = [threads.submit(user.ask, rig.plan()) for user in users]
        wait_for(lambda: len(rig.recording.operations) >= deadly, "the acknowledgements", 60)
        time.sleep(rig.rng.uniform(0, 0.02))
        rig.target.kill9()
        rig.target.start()
        for one in asked:
            one.result()
    # Whoever had begun with an input when it was killed does not begin with it again.
    assert set(run_states(rig.check())) <= {"completed", "abandoned"}


@row("F03", seeds=1)
def test_f03_killed_in_mid_tool(rig: Rig) -> None:
    """The call that ran is lost, the one behind it never started; the next request has a result for both."""
    plans: list[Plan] = []
    for user in rig.sessions(2):
        rig.reader(user)
        plans.append(rig.plan(Step(words=2, calls=(wait_for_file(rig.gate()), QUICK)), Step()))
        user.ask(plans[-1])
    for plan in plans:
        rig.ledger.wait(plan.call_nonce(0, 0))
    time.sleep(rig.rng.uniform(0, 0.05))
    rig.target.kill9()
    for plan in plans:
        kernel_is_gone(rig, plan.call_nonce(0, 0))
    rig.target.start()
    for user in rig.clients.values():
        user.ask(rig.plan())
    states = call_states(rig.check())
    for plan in plans:
        assert (states[plan.call_nonce(0, 0)], states[plan.call_nonce(0, 1)]) == ("lost", "interrupted")
        assert len(rig.ledger.of(plan.call_nonce(0, 0))) == 1
        assert rig.ledger.of(plan.call_nonce(0, 1)) == []


@row("F04", seeds=1)
def test_f04_killed_between_the_end_of_a_tool_and_its_commit(rig: Rig) -> None:
    """Nobody can commit while the tool ends: its effect is there, its result never is."""
    user = rig.session()
    rig.reader(user)
    gate, done = rig.gate(), rig.gate()
    program = f"{wait_for_file(gate)}\nopen({str(done)!r}, 'w').close()"
    plan = rig.plan(Step(words=1, calls=(program,)), Step())
    user.ask(plan)
    rig.ledger.wait(plan.call_nonce(0, 0))
    with rig.target.database.hold():
        gate.touch()
        wait_for(done.exists, "the tool's end", 60)
        time.sleep(rig.rng.uniform(0, 0.3))
        rig.target.kill9()
    rig.target.start()
    user.ask(rig.plan())
    states = call_states(rig.check())
    assert states == {plan.call_nonce(0, 0): "lost"}
    assert len(rig.ledger.of(plan.call_nonce(0, 0))) == 1


@row("F06", seeds=1)
def test_f06_killed_again_and_again_while_it_recovers(rig: Rig) -> None:
    """Each life ends at another fact: a claim, a run, a request to the provider, or a first word."""
    kills = 20 if MANY else 2
    users = rig.sessions(3)
    hold = rig.plan(Step(words=1, calls=(wait_for_file(rig.gate()),)), Step())
    users[0].ask(hold)
    for user in users:
        rig.reader(user)
        for _ in range(kills):
            user.ask(rig.plan(Step(words=3), pace_seconds=0.01))
    rig.ledger.wait(hold.call_nonce(0, 0))
    rig.target.kill9()
    for _ in range(kills):
        come = rig.rng.choice([claims, runs, requests, lines])
        before = come(rig)
        rig.target.launch()
        wait_for(lambda come=come, before=before: come(rig) > before, come.__name__, 60)  # type: ignore[misc]
        time.sleep(rig.rng.uniform(0, 0.1))
        rig.target.kill9()
    rig.target.start()
    assert set(run_states(rig.check())) <= {"completed", "abandoned"}


Fact = Callable[[Rig], int]


def claims(rig: Rig) -> int:
    return rig.target.database.count("SELECT SUM(generation) FROM sessions_app_session")


def runs(rig: Rig) -> int:
    return rig.target.database.count("SELECT COUNT(*) FROM sessions_app_run")


def requests(rig: Rig) -> int:
    return len(rig.model.requests)


def lines(rig: Rig) -> int:
    return len(rig.target.log_text())


@row("F14", seeds=1)
def test_f14_killed_with_full_queues(rig: Rig) -> None:
    """All that waited is answered once and in order."""
    users = rig.sessions(3 if MANY else 1)
    held = [rig.plan(Step(words=5)) for _ in users]
    barriers = [rig.model.hold(plan, after=rig.rng.randrange(1, 6)) for plan in held]
    for user, plan in zip(users, held, strict=True):
        rig.reader(user)
        user.ask(plan)
    for barrier in barriers:
        assert barrier.reached.wait_in_thread(60)
    with ThreadPoolExecutor(len(users)) as threads:
        list(threads.map(lambda user: fill(rig, user), users))
    rig.target.kill9()
    for barrier in barriers:
        barrier.release.set()
    rig.target.start()
    states = run_states(rig.check())
    assert len(states) == len(users) * (QUEUE + 1)
    assert set(states) <= {"completed", "abandoned"}
    if rig.target.name == "embedded":
        # Elsewhere a lease may end for want of a turn, and with it one run more.
        assert states.count("abandoned") == len(users)


def fill(rig: Rig, user: Client) -> None:
    for _ in range(QUEUE):
        user.ask(rig.plan(Step(words=1)))
