"""A session's work: one task that takes what waits, in order, and answers it run by run.

It alone changes the phase. A stop names its run; one that comes before its run's driver waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from sessions_app.models import Run as RunRow
from sessions_app.models import Session
from sessions_app.render import render_entry
from sessions_app.store import runs
from sessions_app.store.fence import Fence
from streaming import meters
from streaming.actors.calls import tell_ended
from streaming.actors.driver import Driver
from streaming.actors.lifecycle import Message, Phase, advance
from streaming.actors.mailbox import Mailbox
from streaming.actors.publisher import Publisher
from streaming.actors.recorder import shielded, unending
from streaming.actors.run import Finish
from streaming.actors.services import Services
from streaming.actors.turn import Turn
from streaming.progress.projection import Projection
from streaming.providers.record import CancelReason

log = logging.getLogger("albedo.work")


CULLED = "The Python kernel was ended after a long rest: its variables are gone, files are not."


class Work:
    """Everything that one actor does for its session's inputs."""

    def __init__(
        self,
        fence: Fence,
        session: Session,
        publisher: Publisher,
        mailbox: Mailbox,
        services: Services,
        announce: Callable[[], None],
    ) -> None:
        self._fence = fence
        self._session = session
        self._publisher = publisher
        self._mailbox = mailbox
        self._services = services
        self._announce = announce
        self._kernel = services.open_kernel(Path(session.workspace))
        self._mcp = services.open_mcp(Path(session.workspace))
        self.projection = Projection(services.limits.progress, services.tools.preview_keys)
        self._phase: Phase = "idle"
        self._run_id: UUID | None = None
        self._driver: Driver | None = None
        self._stop: tuple[UUID, CancelReason] | None = None
        self._woken = asyncio.Event()
        self._resting = asyncio.Event()
        self._draining = False
        self._blocking_reason: str | None = None
        fence.blocked = self._tell_blocked
        self.wake()

    @property
    def busy(self) -> bool:
        return self._run_id is not None or not self._mailbox.empty

    @property
    def kernel_alive(self) -> bool:
        return self._kernel.alive

    def wake(self) -> None:
        """Something may be waiting."""
        if not self._mailbox.empty and self._run_id is None and self._phase == "idle":
            self._advance("begin")
        self._resting.clear()
        self._woken.set()

    def interrupt(self, run_id: UUID, reason: CancelReason) -> None:
        """Stop exactly this run, now or as soon as its driver is there. Repeats merge."""
        self._stop = (run_id, reason)
        if self._driver is not None and self._run_id == run_id:
            self._advance("interrupt")
            self._driver.interrupt(reason)

    async def serve(self) -> None:
        """Answer what waits, for ever. Raises LeaseLost."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while not self._draining:
                taken = await unending(runs.start_run, self._fence)
                if taken is None:
                    break
                await self._answer(taken)
            if self._phase != "idle":
                self._advance("finish")
            if not self._woken.is_set():
                self._resting.set()

    async def drain(self, grace_seconds: float) -> None:
        """Start nothing new; let the step that runs end within its grace, then interrupt it."""
        self._draining = True
        if self._driver is not None:
            self._driver.drain()
        try:
            async with asyncio.timeout(grace_seconds):
                await self._resting.wait()
        except TimeoutError:
            if self._driver is not None:
                self._driver.interrupt("shutdown")
            await self._resting.wait()

    async def cull_kernel(self) -> None:
        """End a kernel that rests; the next call gets a fresh one. What is lost is told."""
        self._publisher.emit("note", {"code": "kernel_culled", "text": CULLED})
        await self._kernel.restart()
        meters.KERNEL_CULLS.inc()

    async def close(self) -> None:
        await asyncio.gather(self._kernel.close(), self._mcp.close())

    async def _answer(self, taken: runs.Taken) -> None:
        run = taken.run
        self._session = taken.session
        self._run_id = run.id
        self._tell_taken(taken)
        turn = Turn(
            fence=self._fence,
            generation=self._session.public_generation,
            session=self._session,
            run=run,
            publisher=self._publisher,
            projection=self.projection,
            kernel=self._kernel,
            services=self._services,
            mcp=self._mcp,
            tools=self._services.tools,
            newest_input=taken.inputs[-1].order,
        )
        self._driver = Driver(turn, self._mailbox, self._advance)
        if self._draining:
            self._driver.drain()
        if self._stop is not None and self._stop[0] == run.id:
            self._advance("interrupt")
            self._driver.interrupt(self._stop[1])
        finish = await self._driver.drive()
        await self._end(run.id, finish, self._driver)

    def _tell_taken(self, taken: runs.Taken) -> None:
        self._mailbox.taken(taken.inputs)
        self._advance("begin")
        for entry in taken.entries:
            self._publisher.emit("message", {"entry": render_entry(entry)})

    async def _end(self, run_id: UUID, finish: Finish, driver: Driver) -> None:
        end = runs.RunEnd(
            state=finish.state,
            error=finish.error,
            provider_closed_at=driver.turn.provider_closed_at,
            tool_interrupted_at=driver.turn.tool_interrupted_at,
            kernel=driver.turn.kernel_after_stop,
            provider=driver.turn.provider,
            model=driver.turn.model,
        )
        ended = await shielded(self._fence, unending(runs.finish_run, self._fence, run_id, end))
        self._driver = None
        self._publisher.void()
        self._tell_ended(ended)
        self._run_id = None
        self._advance_from_run()

    def _tell_ended(self, ended: runs.EndedRun) -> None:
        for call in ended.calls:
            tell_ended(self._publisher, self.projection, call)
        self._publisher.progress(self.projection.clear())
        run_id, error = str(ended.run.id), ended.run.error
        if ended.run.state == RunRow.State.FAILED and error:
            self._publisher.emit("error", {"run_id": run_id, **error})
        completed = {
            "run_id": run_id,
            "outcome": str(ended.run.state),
            "input_ids": [str(uid) for uid in ended.input_uids],
            "error": error,
        }
        self._publisher.emit("turn_completed", completed)

    def _advance_from_run(self) -> None:
        """Straight to the next one's preparing where something waits: never idle with work pending."""
        self._phase = advance(self._phase, "finish")
        if not self._mailbox.empty and not self._draining:
            self._phase = advance(self._phase, "begin")
        self._tell_status()

    def _advance(self, message: Message) -> None:
        before = (self._phase, self._publisher.state["status"]["run_id"])
        self._phase = advance(self._phase, message)
        if (self._phase, str(self._run_id) if self._run_id else None) != before:
            self._tell_status()

    def _tell_blocked(self, reason: str | None) -> None:
        self._blocking_reason = reason
        self._tell_status()

    def _tell_status(self) -> None:
        status: dict[str, Any] = {
            "phase": self._phase,
            "run_id": str(self._run_id) if self._run_id else None,
            "interrupt_requested": self._phase == "interrupting",
            "blocking_reason": self._blocking_reason,
        }
        self._publisher.emit("status", status)
        self._announce()
