"""Sessions that change hands: their owners die, or only seem to."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.chaos.client import Client
from tests.chaos.conftest import MakeCluster
from tests.chaos.ledger import QUICK, wait_for_file
from tests.chaos.plan import Step
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


def zombie(rig: Rig, *, in_tool: bool) -> None:
    """Stop the owner, let another take over and work on, wait three leases, let the old one go on."""
    user = rig.session()
    for number in range(2):
        rig.reader(user, number=number)
    gate, done = rig.gate(), rig.gate()
    program = f"{wait_for_file(gate)}\nopen({str(done)!r}, 'w').close()"
    plan = rig.plan(Step(words=2, calls=(program,)), Step()) if in_tool else rig.plan(Step(words=30))
    barrier = rig.model.hold(plan, after=-1 if in_tool else rig.rng.randrange(1, 30))
    user.ask(plan)
    if in_tool:
        rig.ledger.wait(plan.call_nonce(0, 0))
    else:
        assert barrier.reached.wait_in_thread(60)
    owner = owner_of(rig, user)
    owner.send_signal(signal.SIGSTOP)
    stopped_at = time.monotonic()
    try:
        user.ask(rig.plan(Step(words=3, calls=(QUICK,)), Step()))
        wait_for(lambda: rig.target.owner(user.session) not in (owner, None), "another owner", 90)
        # What the old owner waits for comes while it stands still: it is the first thing that it will see.
        gate.touch()
        barrier.release.set()
        if in_tool:
            wait_for(done.exists, "the end of the tool", 60)
        time.sleep(max(0.0, stopped_at + 3 * rig.target.lease_seconds - time.monotonic()))
    finally:
        owner.send_signal(signal.SIGCONT)
    wait_for(lambda: says_so(rig, user), "the old owner's last words", 60)
    if in_tool:
        pid = rig.ledger.of(plan.call_nonce(0, 0))[0].pid
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of its kernel", 60)
    user.ask(rig.plan())
    rig.check()
    states = [run["state"] for run in user.runs()]
    assert states == ["abandoned", "completed", "completed"]
    statuses = [entry["tool"]["status"] for entry in user.history() if entry["kind"] == "tool_result"]
    assert statuses == (["lost", "ok"] if in_tool else ["ok"])


def says_so(rig: Rig, user: Client) -> bool:
    """That its actor stops: told by a write, by a renewal, or by its own clock."""
    sentences = ("the lease is lost, generation 1", "its lease is lost", "no renewal in time")
    return any(f"session {user.session}: {words}" in rig.target.log_text() for words in sentences)


@row("F07", seeds=1)
def test_f07_an_owner_that_was_stopped_while_an_answer_came(cluster_rig: Rig) -> None:
    zombie(cluster_rig, in_tool=False)


@row("F07", seeds=1)
def test_f07_an_owner_that_was_stopped_while_a_tool_ran(cluster_rig: Rig) -> None:
    zombie(cluster_rig, in_tool=True)


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
    wait_for(lambda: says_so(rig, user), "the old owner's last words", 60)
    user.ask(rig.plan())
    rig.check()
    assert [run["state"] for run in user.runs()] == ["abandoned", "completed"]


@pytest.mark.timeout(600)
@row("F07", seeds=0)
def test_f07_at_the_leases_of_every_day(seed: int, tmp_path: Path, make_cluster: MakeCluster) -> None:
    with Rig(make_cluster(**DEFAULT_LEASES), seed, tmp_path) as rig:
        zombie(rig, in_tool=bool(seed % 2))
