"""Interrupts and deletions at every state of a session, from several sides at once."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.chaos.client import Client
from tests.chaos.ledger import wait_for_file
from tests.chaos.plan import Step
from tests.chaos.reader import TRANSPORTS, Reader
from tests.chaos.rig import Rig
from tests.chaos.seeds import row
from tests.support.processes import wait_for

Interrupts = list[Future[str]]


class Stopper:
    """Interrupts one snapshot twice at once, through two doors."""

    def __init__(self, rig: Rig, user: Client, threads: ThreadPoolExecutor) -> None:
        self.rig, self.user, self._threads = rig, user, threads
        self._doors = [user, rig.client(user.session, 1)]

    def press(self) -> Interrupts:
        shown = self.user.get(tail=0)
        return [self._threads.submit(door.stop, shown) for door in self._doors]

    def stopped(self) -> None:
        """The later of the two may find that it is over already."""
        assert "requested" in self.states(self.press())

    def states(self, pressed: Interrupts) -> set[str]:
        return {one.result() for one in pressed}

    def at_rest(self) -> list[str]:
        """The states of all runs, once nothing goes on; the next input then works."""

        def idle() -> bool:
            shown = self.user.get(tail=0)
            return shown["status"]["phase"] == "idle" and not shown["pending_inputs"]

        wait_for(idle, "rest", 60)
        before = [run["state"] for run in self.user.runs()]
        self.user.ask(self.rig.plan())
        return before


@row("F52", seeds=1)
def test_f52_interrupted_twice_in_every_state(rig: Rig) -> None:
    with ThreadPoolExecutor(8) as threads:
        cases = (idle, queued, streaming, in_a_tool, while_nobody_commits, anywhere)
        for case in rig.rng.sample(cases, len(cases)):
            user = rig.session()
            rig.reader(user)
            case(rig, user, Stopper(rig, user, threads))
    history = rig.check()
    last = [final.runs[-1].state for final in history.finals]
    assert last == ["completed"] * len(last)


def idle(rig: Rig, user: Client, stopper: Stopper) -> None:
    assert stopper.states(stopper.press()) == {"already_ended"}
    assert stopper.at_rest() == []


def queued(rig: Rig, user: Client, stopper: Stopper) -> None:
    held = rig.plan()
    barrier = rig.model.hold(held)
    user.ask(held)
    assert barrier.reached.wait_in_thread(60)
    waiting = [user.ask(rig.plan()) for _ in range(3)]
    stopper.stopped()
    assert stopper.at_rest() == ["interrupted"]
    assert [user.get(f"/inputs/{one}")["state"] for one in waiting] == ["cancelled"] * 3


def streaming(rig: Rig, user: Client, stopper: Stopper) -> None:
    held = rig.plan(Step(words=30))
    barrier = rig.model.hold(held, after=rig.rng.randrange(6, 30))
    user.ask(held)
    assert barrier.reached.wait_in_thread(60)
    stopper.stopped()
    assert stopper.at_rest() == ["interrupted"]
    barrier.release.set()
    stopped = user.runs()[0]["id"]
    # Of what had been written nothing lasts.
    assert [entry["kind"] for entry in user.history() if entry["run_id"] == stopped] == ["user"]


def in_a_tool(rig: Rig, user: Client, stopper: Stopper) -> None:
    plan = rig.plan(Step(words=1, calls=(wait_for_file(rig.gate()),)), Step())
    user.ask(plan)
    rig.ledger.wait(plan.call_nonce(0, 0))
    stopper.stopped()
    assert stopper.at_rest() == ["interrupted"]
    results = [entry for entry in user.history() if entry["kind"] == "tool_result"]
    assert [entry["tool"]["status"] for entry in results] == ["interrupted"]


def while_nobody_commits(rig: Rig, user: Client, stopper: Stopper) -> None:
    """The tool has ended, its result waits for the commit, and so does the interrupt."""
    gate, done = rig.gate(), rig.gate()
    program = f"{wait_for_file(gate)}\nopen({str(done)!r}, 'w').close()"
    plan = rig.plan(Step(words=1, calls=(program,)), Step())
    user.ask(plan)
    rig.ledger.wait(plan.call_nonce(0, 0))
    with rig.target.database.hold():
        gate.touch()
        wait_for(done.exists, "the tool's end", 60)
        pressed = stopper.press() if rig.target.name == "embedded" else []
    # With its session locked a cluster cannot even be asked what to interrupt.
    pressed = pressed or stopper.press()
    assert stopper.states(pressed) <= {"requested", "already_ended"}
    assert stopper.at_rest() in (["interrupted"], ["completed"])


def anywhere(rig: Rig, user: Client, stopper: Stopper) -> None:
    """At some word of an answer that nobody holds back."""
    before = rig.model.frames
    user.ask(rig.plan(Step(words=40), pace_seconds=0.005))
    rig.model.until_frames(before + rig.rng.randrange(1, 40))
    assert stopper.states(stopper.press()) <= {"requested", "already_ended"}
    assert stopper.at_rest() in (["interrupted"], ["completed"])


@row("F53", seeds=1)
def test_f53_deleted_while_it_runs(rig: Rig) -> None:
    """Nothing is left of it: no kernel, no folder, no row, no reader that still waits."""
    gate = rig.gate()
    tool = rig.plan(Step(words=1, calls=(wait_for_file(gate),)), Step())
    words = rig.plan(Step(words=30))
    barrier = rig.model.hold(words, after=rig.rng.randrange(1, 30))
    doomed = rig.sessions(2)
    readers = [rig.reader(user, transport) for user in doomed for transport in TRANSPORTS]
    folders = [Path(user.get(tail=0)["workspace"]) for user in doomed]
    for user, plan in zip(doomed, (tool, words), strict=True):
        user.ask(plan)
    rig.ledger.wait(tool.call_nonce(0, 0))
    assert barrier.reached.wait_in_thread(60)
    for user in doomed:
        answer = user.delete()
        assert answer is not None
        assert answer.status_code in (200, 202, 204), answer.text
        rig.deleted.add(user.session)
    gate.touch()
    barrier.release.set()
    for reader in readers:
        until_gone(reader)
    pid = rig.ledger.of(tool.call_nonce(0, 0))[0].pid
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of the kernel", 60)
    wait_for(lambda: not any(folder.exists() for folder in folders), "the end of the workspaces", 60)
    for user in doomed:
        gone = user.request("GET")
        assert gone is not None
        assert gone.status_code == 404
        until_rowless(rig, user)
    rig.session().ask(rig.plan())
    rig.check()


def until_gone(reader: Reader) -> None:
    reader.until(lambda: reader.gone, "the end")


def until_rowless(rig: Rig, user: Client) -> None:
    wait_for(lambda: rows_of(rig, user) == 0, "the end of its rows", 60)


def rows_of(rig: Rig, user: Client) -> int:
    database = rig.target.database
    key: Any = database.key(user.session)
    return (
        database.count("SELECT COUNT(*) FROM sessions_app_entry WHERE session_id = %s", key)
        + database.count("SELECT COUNT(*) FROM sessions_app_run WHERE session_id = %s", key)
        + database.count("SELECT COUNT(*) FROM sessions_app_input WHERE session_id = %s", key)
        + database.count("SELECT COUNT(*) FROM sessions_app_toolcall WHERE session_id = %s", key)
    )
