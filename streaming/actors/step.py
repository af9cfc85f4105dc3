"""One step's attempts: ask the provider, show what comes, keep the record; void all of it where it failed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

from sessions_app.ids import new_id
from sessions_app.text import storable
from streaming import meters
from streaming.actors import recorder
from streaming.actors.conversation import Conversation
from streaming.actors.interrupts import RunInterrupted
from streaming.actors.run import Ask, AttemptFailed, Wait
from streaming.actors.turn import Turn
from streaming.providers.attempt import Attempt
from streaming.providers.errors import ProviderError
from streaming.providers.events import Completed, StepEvent, TextDelta, ThinkingDelta
from streaming.providers.record import AttemptRecord, CancelReason, rfc3339
from streaming.providers.retry import GiveUp, Retry, decide
from streaming.providers.types import Profile, StepRequest, StepResponse


class Step:
    """Asks for one step after another of a run. `run_deadline` is a reading of `time.monotonic`."""

    def __init__(
        self, turn: Turn, profiles: list[Profile], conversation: Conversation, run_deadline: float
    ) -> None:
        self._turn = turn
        self._profiles = profiles
        self._conversation = conversation
        self._run_deadline = run_deadline
        self._attempt: Attempt | None = None
        self._asking = False
        self._overdue = False
        self._message_id = new_id()
        self._shown = {"text": 0, "thinking": 0}

    @property
    def message_id(self) -> UUID:
        """Of the message that the newest attempt shows."""
        return self._message_id

    def end_wait(self) -> None:
        """The run is over its deadline. An attempt under way minds that itself, a wait does not."""
        self._overdue = True
        if not self._asking:
            self._turn.scope.interrupt()

    def cancel(self, reason: CancelReason) -> None:
        """Note the stop in the attempt's record before its task feels it."""
        if self._attempt is not None:
            self._attempt.cancel(reason)

    async def ask(self, ask: Ask) -> StepResponse | AttemptFailed:
        """One attempt to its end. Raises RunInterrupted, LeaseLost."""
        turn, profile = self._turn, self._profiles[ask.fallback]
        turn.provider, turn.model = profile.name, profile.model
        self._begin(ask)
        request = StepRequest(turn.session.instructions, self._conversation.items, turn.tools.specs)
        attempt = turn.services.client.attempt(
            profile,
            request,
            run_id=turn.run_id,
            step=ask.step,
            attempt=ask.attempt,
            run_deadline=self._run_deadline,
        )
        self._asking = True
        try:
            return await self._listen(attempt, ask)
        except ProviderError as error:
            return self._judge(error, profile, ask)
        except RunInterrupted:
            turn.provider_closed_at = _closed_at(attempt)
            raise
        finally:
            self._asking = False
            self._attempt = attempt
            _count(attempt.record)
            await recorder.save(turn.fence, attempt.record)

    async def wait(self, wait: Wait) -> None:
        """Announce the retry, which voids what was shown, and wait. Raises RunInterrupted, LeaseLost."""
        turn = self._turn
        turn.publisher.void()
        turn.publisher.progress(turn.projection.clear())
        retry = {
            "run_id": turn.run_id,
            "step": wait.step,
            "attempt": wait.attempt,
            "cause": wait.cause,
            "detail": wait.detail,
            "delay_ms": round(wait.delay_seconds * 1000),
        }
        turn.publisher.emit("retry", retry)
        if self._attempt is None:
            return
        record = self._attempt.record
        record.retry_wait(wait.cause, wait.delay_seconds)
        await recorder.save(turn.fence, record)
        try:
            async with turn.scope:
                await asyncio.sleep(wait.delay_seconds)
        finally:
            record.ended(run_deadline=self._overdue)
            await recorder.save(turn.fence, record)
            self._attempt = None

    def _begin(self, ask: Ask) -> None:
        turn = self._turn
        self._message_id = new_id()
        self._shown = {"text": 0, "thinking": 0}
        prefix = turn.call_prefix(ask.step, ask.attempt)
        turn.publisher.progress(turn.projection.begin(prefix))

    async def _listen(self, attempt: Attempt, ask: Ask) -> StepResponse:
        async with self._turn.scope, attempt:
            self._attempt = attempt
            await recorder.save(self._turn.fence, attempt.record)
            async for events in attempt.events():
                for event in events:
                    if isinstance(event, Completed):
                        return event.response
                    self._show(event, ask)
        raise RuntimeError("an attempt ended without its terminal event")

    def _show(self, event: StepEvent, ask: Ask) -> None:
        match event:
            case TextDelta(text=text):
                self._show_text("text", text, ask)
            case ThinkingDelta(text=text):
                self._show_text("thinking", text, ask)
            case _:
                started_at = rfc3339(datetime.now(UTC)) or ""
                self._turn.publisher.progress(self._turn.projection.apply(event, started_at))

    def _show_text(self, kind: str, text: str, ask: Ask) -> None:
        if not text:
            return
        delta = {
            "run_id": self._turn.run_id,
            "message_id": str(self._message_id),
            "attempt": ask.attempt,
            "offset_scalars": self._shown[kind],
            "text": storable(text),
        }
        self._shown[kind] += len(text)
        self._turn.publisher.emit(kind, delta)

    def _judge(self, error: ProviderError, profile: Profile, ask: Ask) -> AttemptFailed:
        services = self._turn.services
        decision = decide(
            error,
            attempt=ask.profile_attempt,
            profile=profile,
            rng=services.client.rng,
            max_retry_after_seconds=services.limits.wire.retry_after_seconds,
        )
        more = ask.fallback + 1 < len(self._profiles)
        match decision:
            case Retry(delay_seconds=seconds):
                return AttemptFailed(error.code, error.detail, error.retryable, seconds)
            case GiveUp():
                return AttemptFailed(error.code, error.detail, error.retryable, None, has_fallback=more)


def _count(record: AttemptRecord) -> None:
    """As the exchange ended: a stop in the wait for the next attempt makes no second one."""
    first = record.first_event_at
    waited = (first - record.started_at).total_seconds() if first else None
    meters.attempt_ended(record.provider, record.outcome or "failed", record.error_class, waited)


def _closed_at(attempt: Attempt) -> datetime | None:
    """When the provider's transport was closed; None where closing failed, which proves nothing."""
    responses = attempt.record.wire_responses
    return responses[-1].closed_at if responses else datetime.now(UTC)
