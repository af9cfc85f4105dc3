"""Users at work while something under the server fails: they ask, run tools, and look, without a pause."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from uuid_utils.compat import uuid7

from tests.chaos.client import Client
from tests.chaos.ledger import QUICK
from tests.chaos.plan import Plan, Step
from tests.chaos.reader import TRANSPORTS, Reader
from tests.chaos.rig import Rig
from tests.support.processes import DeadlinePassed

USERS = 3
# More than can be answered while a service fails: users never wait for work.
INPUTS = 300
# Of one user at once, so that what is left when the users go is soon done.
PENDING = 3
PATIENCE_SECONDS = 90.0
LOOK_SECONDS = 0.1
# What may become of a run that could not store its steps, or whose lease ended meanwhile.
ENDS = {"completed", "failed", "abandoned"}


class Load:
    """`users` ask until the block ends; `accepted` are the inputs of theirs that were, in order of answer."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.users = rig.sessions(USERS)
        self._plans = {user.session: [plan_of(rig) for _ in range(INPUTS)] for user in self.users}
        self._enough = threading.Event()
        self._failures: list[BaseException] = []
        self.accepted: list[tuple[Client, str]] = []

    def readers(self) -> list[Reader]:
        """One over each transport for every user, at different web processes; they are there."""
        return [
            self._rig.reader(user, transport, number)
            for user in self.users
            for number, transport in enumerate(TRANSPORTS)
        ]

    @contextmanager
    def on(self) -> Iterator[None]:
        with ThreadPoolExecutor(USERS) as threads:
            working = [threads.submit(self._work, user) for user in self.users]
            try:
                yield
            finally:
                self._enough.set()
            for one in working:
                one.result()

    def goes_on(self) -> None:
        """Return when a few inputs more are accepted, and the model has said so much more."""
        inputs, frames = self._rig.rng.randrange(1, 2 * USERS), self._rig.rng.randrange(10, 60)
        accepted, said = len(self.accepted), self._rig.model.frames
        end = time.monotonic() + PATIENCE_SECONDS
        while len(self.accepted) < accepted + inputs or self._rig.model.frames < said + frames:
            assert self._failures == []
            if time.monotonic() > end:
                more = f"{len(self.accepted) - accepted} inputs, {self._rig.model.frames - said} events"
                raise DeadlinePassed(f"the work stands still: {more} of {inputs} and {frames}")
            time.sleep(0.02)

    def said(self) -> set[int]:
        """The statuses of everything that the server did not do. Each says when to come again."""
        refusals = [answer for user in self.users for answer in user.answers if answer[0] >= 400]
        assert all(retry_after.isdigit() for _, retry_after in refusals)
        return {status for status, _ in refusals}

    def run_states(self) -> list[str]:
        return [run["state"] for user in self.users for run in user.runs()]

    def _work(self, user: Client) -> None:
        try:
            for plan in self._plans[user.session]:
                if self._enough.is_set():
                    return
                self.accepted.append((user, user.ask(plan)))
                self._until_room(user)
        except BaseException as failure:
            self._failures.append(failure)
            raise

    def _until_room(self, user: Client) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while len(user.get(tail=0)["pending_inputs"]) >= PENDING and not self._enough.wait(LOOK_SECONDS):
            assert time.monotonic() < end, f"the inputs of {user.session} are not answered"


def plan_of(rig: Rig) -> Plan:
    """A short answer, or a call and then one."""
    words = rig.rng.randrange(2, 8)
    calls = (QUICK,) * rig.rng.randrange(2)
    return rig.plan(Step(words=words, calls=calls), *([Step()] if calls else []), pace_seconds=0.02)


def until_refused(rig: Rig, user: Client) -> None:
    """Return when an input of this user, who has no other work, was not taken: the fault is in effect."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = user.send(rig.plan(), str(uuid7()))
        if answer is None or answer.status_code >= 500:
            return
        assert time.monotonic() < end, f"inputs are still taken: {answer.status_code} {answer.text}"
