"""The provider of a rig: it answers every request by the plan in it, and can be stopped in its tracks.

It lives in the test's process, so it outlives every server and remembers every request.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Part, Say
from streaming.providers.scripted_signal import Barrier
from tests.chaos.history import ProviderRequest
from tests.chaos.ledger import Ledger
from tests.chaos.plan import Plan, find_step
from tests.support.processes import DeadlinePassed

PATIENCE_SECONDS = 90.0
# Takes a request before the plan does; True where it has answered it.
Fault = Callable[[ScriptedRequest, Out, Plan, int], Awaitable[bool]]


class PlannedModel:
    """`frames` counts every event written to any session: what a seeded moment is told by.

    `fault` may be set by a row that tries a provider's own failures.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._thread = ScriptedThread(self._play)
        self._news = threading.Condition()
        self._holds: dict[tuple[str, int], tuple[int, Barrier]] = {}
        self.frames = 0
        self.fault: Fault | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, barrier in self._holds.values():
            barrier.release.set()
        self._thread.stop()

    @property
    def base_url(self) -> str:
        return self._thread.base_url

    @property
    def requests(self) -> list[ProviderRequest]:
        return [ProviderRequest(request.path, request.body) for request in list(self._thread.requests)]

    def hold(self, plan: Plan, step: int = 0, after: int = 0) -> Barrier:
        """Stop this step's answer when `after` of its events are written, until the barrier is released."""
        barrier = Barrier()
        self._holds[plan.nonce, step] = (after, barrier)
        return barrier

    def until_frames(self, count: int) -> None:
        """Return when so many events in all are written."""
        if not self.wait_frames(count, PATIENCE_SECONDS):
            raise DeadlinePassed(f"{count} events of the model: only {self.frames} came")

    def wait_frames(self, count: int, seconds: float) -> bool:
        """The same for where none may come any more: whether they came."""
        with self._news:
            return self._news.wait_for(lambda: self.frames >= count, seconds)

    async def _play(self, request: ScriptedRequest, out: Out) -> None:
        found = find_step(request.body or {})
        if found is None:
            await Reply(Say("there is no plan"))(request, out)
            return
        plan, step = found
        if self.fault is not None and await self.fault(request, out, plan, step):
            return
        reply = self.reply(plan, step)
        if not request.wants_stream:
            await out.json(200, reply.whole(request.protocol))
            return
        await self.write(reply, plan, step, request, out)

    def reply(self, plan: Plan, step: int) -> Reply:
        parts: list[Part] = []
        if text := "".join(plan.words(step)):
            parts.append(Say(text, len(text) // max(1, plan.steps[step].words)))
        for number, program in enumerate(plan.steps[step].calls):
            nonce = plan.call_nonce(step, number)
            parts.append(Call("python", {"code": self._ledger.code(nonce, program)}, id=nonce))
        return Reply(*parts)

    async def write(self, reply: Reply, plan: Plan, step: int, request: ScriptedRequest, out: Out) -> None:
        after, barrier = self._holds.get((plan.nonce, step), (-1, None))
        for number, frame in enumerate(reply.frames(request.protocol)):
            if number == after and barrier is not None:
                await out.pause(barrier)
            await out.write(frame)
            with self._news:
                self.frames += 1
                self._news.notify_all()
            if plan.pace_seconds:
                await out.sleep(plan.pace_seconds)
        await out.end()
