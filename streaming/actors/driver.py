"""Carries out what a run's machine says, fact by fact, until it says Finish. Decides nothing itself."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from sessions_app.render import render_entry
from sessions_app.store import runs
from sessions_app.store.fence import LeaseLost
from sessions_app.store.trouble import trouble_of
from streaming.actors.calls import Calls
from streaming.actors.conversation import Conversation
from streaming.actors.interrupts import RunInterrupted
from streaming.actors.lifecycle import Message
from streaming.actors.mailbox import Mailbox
from streaming.actors.recorder import durable, patient
from streaming.actors.run import (
    Action,
    Ask,
    AttemptFailed,
    Call,
    Finish,
    Record,
    Run,
    Steer,
    Wait,
    run_error,
    shutdown_error,
)
from streaming.actors.step import Step
from streaming.actors.turn import Turn
from streaming.providers.record import CancelReason
from streaming.providers.types import Profile

log = logging.getLogger("albedo.driver")


class Driver:
    """One run's. `advance(message)` moves the session's phase."""

    def __init__(self, turn: Turn, mailbox: Mailbox, advance: Callable[[Message], None]) -> None:
        self.turn = turn
        self._mailbox = mailbox
        self._advance = advance
        self._run = Run(max_steps=turn.services.limits.actor.steps_per_run)
        self._reason: CancelReason = "user_stop"
        self._overdue = False
        self._told_fallback = 0
        self._profile_names: list[str] = []
        self._step: Step | None = None
        self._calls: Calls | None = None

    def interrupt(self, reason: CancelReason) -> None:
        """Stop at once: the provider is closed, a running tool interrupted, nothing else is started."""
        if self.turn.scope.requested:
            return
        self._reason = reason
        if self._step is not None:
            self._step.cancel(reason)
        if self._calls is not None:
            self._calls.interrupt()
        self.turn.scope.interrupt()

    def drain(self) -> None:
        self._run.drain()

    async def drive(self) -> Finish:
        """To the run's end. Raises LeaseLost; whatever else goes wrong is a failed run."""
        try:
            return await self._drive()
        except (LeaseLost, asyncio.CancelledError):
            raise
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> Finish:
        trouble = trouble_of(error)
        if trouble is None:
            log.error("run %s failed by a fault of ours", self.turn.run_id, exc_info=error)
            return Finish("failed", run_error("internal_error", "The server met a fault of its own.", True))
        log.warning("run %s ends without the storage: %s", self.turn.run_id, trouble.kind.value)
        return Finish("failed", run_error(trouble.run_code, trouble.detail, True))

    async def _drive(self) -> Finish:
        try:
            profiles = await patient(self._profiles, self.turn.fence)
        except LookupError as error:
            return Finish("failed", run_error("provider_unknown", str(error), False))
        loop = asyncio.get_running_loop()
        deadline = loop.call_later(profiles[0].run_timeout, self._on_overdue)
        try:
            load = partial(Conversation.load, self.turn.session.id)
            conversation = await patient(load, self.turn.fence)
            run_deadline = time.monotonic() + profiles[0].run_timeout
            self._step = Step(self.turn, profiles, conversation, run_deadline)
            self._calls = Calls(self.turn, conversation)
            await self._join_mcp_tools()
            return await self._follow(self._step, self._calls, conversation)
        except RunInterrupted:
            return self._stopped()
        finally:
            deadline.cancel()

    async def _join_mcp_tools(self) -> None:
        """Let the run have the tools of the session's MCP servers; one that is not there is told of."""
        turn = self.turn
        servers = await patient(partial(turn.services.resolve_mcp, turn.session), turn.fence)
        taken = [spec.name for spec in turn.tools.specs]
        async with turn.scope:
            offered = await turn.mcp.offered(servers, taken)
        turn.tools = turn.tools.joined(offered.tools, offered.missing)
        for name, reason in offered.missing.items():
            text = f"The MCP server {name!r} is not available: {reason}"
            turn.publisher.emit("note", {"code": "mcp_unavailable", "text": text})

    async def _follow(self, step: Step, calls: Calls, conversation: Conversation) -> Finish:
        action: Action = self._run.begin()
        while not isinstance(action, Finish):
            try:
                if self._overdue:
                    return self._stopped()
                self.turn.scope.check()
                action = await self._perform(action, step, calls, conversation)
            except RunInterrupted:
                action = self._stopped()
        return action

    async def _perform(self, action: Action, step: Step, calls: Calls, conversation: Conversation) -> Action:
        match action:
            case Ask():
                self._advance("ask")
                self._tell_fallback(action)
                outcome = await step.ask(action)
                if isinstance(outcome, AttemptFailed):
                    return self._run.failed(outcome)
                return self._run.responded(outcome)
            case Wait():
                await step.wait(action)
                return self._run.waited()
            case Record():
                return self._run.recorded(await calls.record(action, step.message_id))
            case Call(call_pk=call_pk):
                self._advance("call")
                await calls.execute(call_pk)
                return self._run.call_ended()
            case Steer():
                await self._steer(conversation)
                return self._run.steered()
            case Finish():
                return action

    def _stopped(self) -> Finish:
        if self._overdue:
            return Finish("failed", run_error("run_timeout", "The run took longer than it may.", False))
        return Finish("interrupted", shutdown_error() if self._reason == "shutdown" else None)

    def _tell_fallback(self, ask: Ask) -> None:
        if ask.fallback == self._told_fallback:
            return
        self._told_fallback = ask.fallback
        text = f"The provider failed; the profile {self._profile_names[ask.fallback]!r} goes on."
        self.turn.publisher.emit("note", {"code": "fallback_used", "text": text})

    def _on_overdue(self) -> None:
        self._overdue = True
        if self._calls is not None:
            self._calls.interrupt()
        if self._step is not None:
            self._step.end_wait()

    async def _profiles(self) -> list[Profile]:
        """The session's profile and its fallbacks, each once."""
        session = self.turn.session
        chain = [await self.turn.services.resolve_profile(session.provider, session.model)]
        while (name := chain[-1].fallback) and name not in {profile.name for profile in chain}:
            chain.append(await self.turn.services.resolve_profile(name, ""))
        self._profile_names = [profile.name for profile in chain]
        return chain

    async def _steer(self, conversation: Conversation) -> None:
        turn = self.turn
        taken = await durable(runs.take_steers, turn.fence, turn.run.id, turn.newest_input)
        if taken is None:
            return
        turn.newest_input = taken.inputs[-1].order
        self._mailbox.taken(taken.inputs)
        for item, entry in zip(taken.inputs, taken.entries, strict=True):
            self.turn.publisher.emit("message", {"entry": render_entry(entry)})
            conversation.add_user(item.text)
