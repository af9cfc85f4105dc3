"""A run as a pure machine: told what happened, it says what to do next. It never does anything itself.

    begin ─► Ask ─► Record ─► Call ─► Call ... ─► Steer ─► Ask ... ─► Finish
              │▲
              └┴ Wait (a retry), Ask on the fallback

The driver carries each action out and reports the fact; a stop is a fact that may come at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from streaming.providers.types import StepResponse

FinishState = Literal["completed", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the step's request, as its `attempt`-th try (from 1). `fallback` counts down the profiles.

    `profile_attempt` counts the tries of the step on the present profile: a fallback starts its own count.
    """

    step: int
    attempt: int
    fallback: int = 0
    profile_attempt: int = 1


@dataclass(frozen=True, slots=True)
class Record:
    """Store the whole step before any call of it starts."""

    step: int
    attempt: int
    response: StepResponse


@dataclass(frozen=True, slots=True)
class Call:
    """Start one stored call."""

    call_pk: UUID


@dataclass(frozen=True, slots=True)
class Steer:
    """Let steering inputs join before the next step."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Void what the attempt showed, then wait before the next one."""

    step: int
    attempt: int
    delay_seconds: float
    cause: str
    detail: str


@dataclass(frozen=True, slots=True)
class Finish:
    state: FinishState
    error: dict[str, Any] | None = None


Action = Ask | Record | Call | Steer | Wait | Finish


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """A failed attempt; `retry_seconds` None means that this profile is given up."""

    code: str
    detail: str
    retryable: bool
    retry_seconds: float | None
    has_fallback: bool = False


class Run:
    """One run's course. `step` counts from 1, `attempt` from 1 within its step, fallbacks included."""

    def __init__(self, *, max_steps: int) -> None:
        self._max_steps = max_steps
        self._draining = False
        self._calls: list[UUID] = []
        self.step = 1
        self.attempt = 1
        self.fallback = 0
        self.profile_attempt = 1

    def begin(self) -> Action:
        return self._ask()

    def drain(self) -> None:
        """The process is leaving: let the present step end, start no call of it."""
        self._draining = True

    def responded(self, response: StepResponse) -> Action:
        return Record(self.step, self.attempt, response)

    def recorded(self, calls: Sequence[UUID]) -> Action:
        """The step is durable with these calls, in output order."""
        self._calls = list(calls)
        if not self._calls:
            return Finish("completed")
        return self.call_ended()

    def call_ended(self) -> Action:
        if self._draining:
            return Finish("interrupted", shutdown_error())
        if self._calls:
            return Call(self._calls.pop(0))
        return Steer()

    def steered(self) -> Action:
        if self._draining:
            return Finish("interrupted", shutdown_error())
        if self.step >= self._max_steps:
            return Finish("failed", run_error("step_limit", f"The run took {self.step} steps.", False))
        self.step += 1
        self.attempt = self.profile_attempt = 1
        return self._ask()

    def failed(self, failure: AttemptFailed) -> Action:
        if self._draining:
            return Finish("interrupted", shutdown_error())
        if failure.retry_seconds is not None:
            return Wait(self.step, self.attempt, failure.retry_seconds, failure.code, failure.detail)
        if failure.has_fallback:
            self.fallback += 1
            self.profile_attempt = 0
            return Wait(self.step, self.attempt, 0.0, failure.code, failure.detail)
        return Finish("failed", run_error(failure.code, failure.detail, failure.retryable))

    def waited(self) -> Action:
        self.attempt += 1
        self.profile_attempt += 1
        return self._ask()

    def _ask(self) -> Ask:
        return Ask(self.step, self.attempt, self.fallback, self.profile_attempt)


def run_error(code: str, detail: str, retryable: bool) -> dict[str, Any]:
    """A run's `error` as clients see it."""
    return {"code": code, "detail": detail, "retryable": retryable}


def shutdown_error() -> dict[str, Any]:
    return run_error("shutdown", "The server was stopped during this run.", True)
