"""Sessions that change hands: their owners die, or only seem to."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from streaming.providers.scripted_signal import Barrier
from tests.chaos.client import Client
from tests.chaos.conftest import MakeCluster
from tests.chaos.ledger import QUICK, wait_for_file
from tests.chaos.plan import Plan, Step
from tests.chaos.rig import Rig
from tests.chaos.seeds import row
from tests.chaos.target import DEFAULT_LEASES
from tests.support.processes import wait_for


def owner_of(rig: Rig, user: Client) -> subprocess.Popen[bytes]:
    owner = rig.target.owner(user.session)
    assert owner is not None
    return owner


@row("F05", seeds=1)
def test_f05_killed_between_the_commit_and_its_publication(cluster_rig: Rig) -> None:
    """The row is there, and a moment later its host is gone: readers elsewhere get it all the same."""
    rig = cluster_rig
    user = rig.session()
    readers = [rig.reader(user, number=number) for number in range(2)]
    words = rig.rng.randrange(1, 40)
    user.ask(rig.plan(Step(words=words)))
    key = rig.target.database.key(user.session)

    def committed() -> int:
        return rig.target.database.count(
            "SELECT COUNT(*) FROM sessions_app_entry WHERE session_id = %s AND kind = 'assistant'", key
        )

    owner, end = None, time.monotonic() + 60
    while not committed():
        owner = owner or rig.target.owner(user.session)
        assert time.monotonic() < end
    (owner or owner_of(rig, user)).kill()
    position = user.history()[-1]["position"]
    for reader in readers:
        reader.until_position(position)
    user.ask(rig.plan())
    rig.check()


@dataclass(frozen=True)
class Stopped:
    """A session whose owner stands still: in the middle of an answer, or of a tool."""

    user: Client
    plan: Plan
    barrier: Barrier
    gate: Path
    done: Path

    @property
    def call(self) -> str:
        return self.plan.call_nonce(0, 0)


def begin(rig: Rig, *, in_tool: bool) -> Stopped:
    """Bring a session to where it can be stopped."""
    user, gate, done = rig.session(), rig.gate(), rig.gate()
    for number in range(2):
        rig.reader(user, number=number)
    program = f"{wait_for_file(gate)}\nopen({str(done)!r}, 'w').close()"
    plan = rig.plan(Step(words=2, calls=(program,)), Step()) if in_tool else rig.plan(Step(words=30))
    barrier = rig.model.hold(plan, after=-1 if in_tool else rig.rng.randrange(1, 30))
    user.ask(plan)
    made = Stopped(user, plan, barrier, gate, done)
    if in_tool:
        rig.ledger.wait(made.call)
    else:
        assert barrier.reached.wait_in_thread(60)
    return made


def zombie(rig: Rig) -> None:
    """Stop the owner of two sessions, let another host work on, wait three leases, let the old one go on."""
    owner, *others = rig.target.actor_processes()
    for other in others:
        other.send_signal(signal.SIGSTOP)
    try:
        answering, in_tool = begin(rig, in_tool=False), begin(rig, in_tool=True)
    finally:
        for other in others:
            other.send_signal(signal.SIGCONT)
    both = (answering, in_tool)
    owner.send_signal(signal.SIGSTOP)
    stopped_at = time.monotonic()
    try:
        for one in both:
            one.user.ask(rig.plan(Step(words=3, calls=(QUICK,)), Step()))
        for one in both:
            until_taken(rig, one.user, owner)
        # What the old owner waits for comes while it stands still: it is the first thing that it will see.
        in_tool.gate.touch()
        answering.barrier.release.set()
        wait_for(in_tool.done.exists, "the end of the tool", 60)
        time.sleep(max(0.0, stopped_at + 3 * rig.target.lease_seconds - time.monotonic()))
    finally:
        owner.send_signal(signal.SIGCONT)
    for one in both:
        until_said(rig, one.user)
    pid = rig.ledger.of(in_tool.call)[0].pid
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of its kernel", 60)
    for one in both:
        one.user.ask(rig.plan())
    history = rig.check()
    for final in history.finals:
        assert (final.runs[0].state, final.runs[-1].state) == ("abandoned", "completed")
    states = {call.nonce: call.status for final in history.finals for call in final.calls}
    assert states[in_tool.call] == "lost"


def until_taken(rig: Rig, user: Client, owner: subprocess.Popen[bytes]) -> None:
    wait_for(lambda: rig.target.owner(user.session) not in (owner, None), "another owner", 90)


def until_said(rig: Rig, user: Client) -> None:
    """Its old actor stops and says so: a write told it, a renewal, or its own clock."""
    sentences = ("the lease is lost, generation 1", "its lease is lost", "no renewal in time")

    def said() -> bool:
        return any(f"session {user.session}: {words}" in rig.target.log_text() for words in sentences)

    wait_for(said, "the old owner's last words", 60)


@row("F07", seeds=1)
def test_f07_an_owner_that_stood_still_for_three_leases(cluster_rig: Rig) -> None:
    zombie(cluster_rig)


@row("F07", seeds=1)
def test_f07_an_owner_that_has_not_heard_of_its_successor(cluster_rig: Rig) -> None:
    """Its lease ends before its time, so that it works on: the fence of its writes alone holds it back."""
    rig = cluster_rig
    user = rig.session()
    for number in range(2):
        rig.reader(user, number=number)
    plan = rig.plan(Step(words=30))
    barrier = rig.model.hold(plan, after=rig.rng.randrange(1, 30))
    user.ask(plan)
    assert barrier.reached.wait_in_thread(60)
    owner, key = owner_of(rig, user), rig.target.database.key(user.session)

    def taken() -> bool:
        """A renewal in time makes the lease good again: then it ends once more."""
        rig.target.database.write(
            "UPDATE sessions_app_session SET lease_until = '2000-01-01' WHERE id = %s AND generation = 1", key
        )
        return rig.target.owner(user.session) not in (owner, None)

    wait_for(taken, "another owner", 60)
    barrier.release.set()
    until_said(rig, user)
    user.ask(rig.plan())
    rig.check()
    states = [run["state"] for run in user.runs()]
    assert (states[0], states[-1]) == ("abandoned", "completed")


@pytest.mark.timeout(600)
@row("F07", seeds=0)
def test_f07_at_the_leases_of_every_day(seed: int, tmp_path: Path, make_cluster: MakeCluster) -> None:
    with Rig(make_cluster(**DEFAULT_LEASES), seed, tmp_path) as rig:
        zombie(rig)
