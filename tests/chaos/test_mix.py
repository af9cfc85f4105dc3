"""Everything at once: users ask, steer, interrupt, cancel; actors and servers die, and lines are cut."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import httpx
from uuid_utils.compat import uuid7

from tests.chaos.client import Client
from tests.chaos.ledger import QUICK
from tests.chaos.plan import Plan, Step
from tests.chaos.reader import TRANSPORTS, Reader
from tests.chaos.rig import Rig
from tests.chaos.seeds import MANY, row

WHEN_BUSY = ("queue", "queue", "steer", "interrupt", "reject")


class Restless:
    """A user whose every step is drawn from a source of chance of his own."""

    def __init__(self, rig: Rig, user: Client, readers: list[Reader], rng: Random) -> None:
        self._rig, self._user, self._readers, self._rng = rig, user, readers, rng
        self._asked: list[str] = []
        self._stale = user.get(tail=0)

    def live(self, steps: int) -> None:
        weights: dict[Callable[[], object], int] = {
            self.ask: 8,
            self.ask_at_once: 2,
            self.stop: 2,
            self.cancel: 2,
            self.crash: 2,
            self.cut: 2,
            self.look: 1,
        }
        for _ in range(steps):
            self._rng.choices(list(weights), list(weights.values()))[0]()
            self.wait()

    def ask(self) -> None:
        """Once: where no answer came nobody knows, and nobody asks again."""
        input_id = str(uuid7())
        self._user.send(self._plan(), input_id, self._rng.choice(WHEN_BUSY))
        self._asked.append(input_id)

    def ask_at_once(self) -> None:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(4):
                threads.submit(self._user.send, self._plan(), str(uuid7()))

    def stop(self) -> None:
        """What is there now, or what was there a while ago."""
        shown = self._stale if self._rng.random() < 0.3 else self._user.get(tail=0)
        self._user.interrupt(shown)

    def cancel(self) -> None:
        if self._asked:
            self._user.cancel(self._rng.choice(self._asked[-4:]))

    def crash(self) -> None:
        """End the session's actor as a fault of its own would."""
        with contextlib.suppress(httpx.HTTPError):
            self._rig.api("POST", f"/api/inspect/sessions/{self._user.session}/restart")

    def cut(self) -> None:
        self._rng.choice(self._readers).cut()

    def look(self) -> None:
        self._stale = self._user.get(tail=0)

    def wait(self) -> None:
        """For so many events of the model as chance wants, or not at all; none may come any more."""
        count = self._rng.randrange(8)
        if count > 2:
            self._rig.model.wait_frames(self._rig.model.frames + count, 0.2)

    def _plan(self) -> Plan:
        steps = [Step(words=self._rng.randrange(1, 25))]
        if self._rng.random() < 0.25:
            steps.insert(0, Step(words=self._rng.randrange(3), calls=(QUICK,) * self._rng.randrange(1, 3)))
        return self._rig.plan(*steps, pace_seconds=self._rng.choice((0.0, 0.002, 0.01)))


@row("MIX", seeds=1)
def test_mix_of_everything_that_users_and_faults_do(rig: Rig) -> None:
    users = rig.sessions(4)
    lives = []
    for user in users:
        readers = [rig.reader(user, transport, number) for number, transport in enumerate(TRANSPORTS)]
        lives.append(Restless(rig, user, readers, Random(rig.rng.random())))
    barrier = threading.Barrier(len(lives))

    def live(one: Restless) -> None:
        barrier.wait(60)
        one.live(60 if MANY else 20)

    with ThreadPoolExecutor(len(lives)) as threads:
        living = [threads.submit(live, one) for one in lives]
        for blow in rig.rng.choices((stumble, strike), weights=(3, 1), k=8 if MANY else 3):
            rig.model.wait_frames(rig.model.frames + rig.rng.randrange(20, 200), 1)
            blow(rig)
        for one in living:
            one.result()
    rig.check()


def stumble(rig: Rig) -> None:
    """Let a process stand still for a moment, too short to lose anything."""
    process = rig.rng.choice(rig.target.actor_processes())
    process.send_signal(signal.SIGSTOP)
    time.sleep(rig.rng.uniform(0.0, 0.3))
    process.send_signal(signal.SIGCONT)


def strike(rig: Rig) -> None:
    """Kill the whole server, or of several hosts one, and start what is missing."""
    processes = rig.target.actor_processes()
    if len(processes) > 1:
        rig.rng.choice(processes).kill()
    else:
        rig.target.kill9()
    rig.target.start()
