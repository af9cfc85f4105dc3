"""The record of one attempt, field by field as contract section 10 lists them.

Pure: the time is passed in as a callable. Names, counts and times only: no argument, no message text,
no header and no key may ever be put here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from streaming.providers.errors import TimeoutScope
from streaming.providers.types import Profile, ToolSpec, Usage

Phase = Literal[
    "connecting",
    "waiting_first_event",
    "generating_text",
    "generating_thinking",
    "generating_tool_arguments",
    "completing",
    "retry_wait",
]
Outcome = Literal["completed", "failed", "cancelled"]
CancelReason = Literal["user_stop", "superseded", "shutdown", "lease_lost"]
GuardKind = Literal["limit", "runaway"]


def rfc3339(moment: datetime | None) -> str | None:
    """UTC with microseconds and `Z`; None stays None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class StreamGuard:
    """Why bytes that kept coming were stopped; `tool` is None where it was text."""

    kind: GuardKind
    tool: str | None
    limit: int
    chars: int

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "tool": self.tool, "limit": self.limit, "chars": self.chars}


@dataclass(slots=True)
class WireTool:
    """One call as the wire showed it."""

    index: int
    name: str | None = None
    argument_chars: int = 0
    argument_delta_events: int = 0
    arguments_done_events: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "name": self.name,
            "argument_chars": self.argument_chars,
            "argument_delta_events": self.argument_delta_events,
            "arguments_done_events": self.arguments_done_events,
        }


@dataclass(slots=True)
class WireResponse:
    """One HTTP exchange: opened when its connection was ready, closed when the transport was ours no more."""

    opened_at: datetime
    status: int | None = None
    first_byte_at: datetime | None = None
    bytes: int = 0
    events: int = 0
    close_started_at: datetime | None = None
    closed_at: datetime | None = None
    close_error_type: str | None = None
    body_eof_observed: bool = False
    tools: dict[int, WireTool] = field(default_factory=dict)

    def tool(self, slot: int) -> WireTool:
        return self.tools.setdefault(slot, WireTool(slot))

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "status": self.status,
            "opened_at": rfc3339(self.opened_at),
            "first_byte_at": rfc3339(self.first_byte_at),
            "bytes": self.bytes,
            "events": self.events,
            "close_started_at": rfc3339(self.close_started_at),
            "closed_at": rfc3339(self.closed_at),
            "close_error_type": self.close_error_type,
            "body_eof_observed": self.body_eof_observed,
            "tools": [tool.to_json() for _, tool in sorted(self.tools.items())],
        }
        if self.close_error_type is not None:
            del shown["closed_at"]
        return shown


@dataclass(slots=True)
class AttemptRecord:
    """Live while the attempt runs: `to_json()` may be called, and stored, at any time."""

    id: str
    run_id: str
    step: int
    attempt: int
    provider: str
    model: str
    protocol: str
    now: Callable[[], datetime] = field(repr=False)
    started_at: datetime
    request_constraints: dict[str, Any]
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    phase: Phase = "connecting"
    failure_phase: Phase | None = None
    cancel_phase: Phase | None = None
    error_class: str | None = None
    http_status: int | None = None
    cancel_reason: CancelReason | None = None
    cancel_observed_at: datetime | None = None
    timeout_scope: TimeoutScope | None = None
    tool_argument_chars: int = 0
    stream_guard: StreamGuard | None = None
    wire_responses: list[WireResponse] = field(default_factory=list)
    first_event_at: datetime | None = None
    first_text_at: datetime | None = None
    first_argument_at: datetime | None = None
    longest_gap_ms: int | None = None
    last_byte_at: datetime | None = None
    usage: Usage = field(default_factory=Usage)
    retry_cause: str | None = None
    retry_delay_ms: int | None = None

    def observe_cancel(self, reason: CancelReason | None, *, scope: TimeoutScope | None = None) -> None:
        """A stop was seen in the present phase. The first one counts; a settled attempt is past stopping."""
        if self.cancel_observed_at is not None or self.settled:
            return
        self.cancel_observed_at = self.now()
        self.cancel_reason = reason
        self.cancel_phase = self.phase
        self.timeout_scope = scope

    @property
    def settled(self) -> bool:
        """True once nothing further can happen to it (a retry wait is still part of an attempt)."""
        return self.outcome is not None and self.phase != "retry_wait"

    def complete(self) -> None:
        self._settle("completed")

    def fail(self, scope: TimeoutScope | None = None) -> None:
        """It failed in the present phase; `error_class` and `http_status` are set by who knows them."""
        self.timeout_scope = scope
        self.failure_phase = self.phase
        self._settle("failed")

    def cancelled(self) -> None:
        """The attempt has ended by a stop that `observe_cancel` noted."""
        self._settle("cancelled")

    def retry_wait(self, cause: str, delay_seconds: float) -> None:
        """The wait before the next attempt begins: the record stays open until `ended`."""
        self.phase = "retry_wait"
        self.retry_cause = cause
        self.retry_delay_ms = round(delay_seconds * 1_000)
        self.ended_at = None

    def ended(self, reason: CancelReason | None = None, *, run_deadline: bool = False) -> None:
        """The retry wait is over: run out (no argument), stopped (`reason`), or past the run's deadline.

        A stop in the wait makes the attempt `cancelled` with `cancel_phase` `retry_wait`, in place of its
        failure phase; what had failed stays told by `error_class`, `http_status` and `retry_cause`.
        """
        if reason is not None or run_deadline:
            self.observe_cancel(reason, scope="run" if run_deadline else None)
        if self.cancel_phase == "retry_wait":
            self.failure_phase = None
            self.outcome = "cancelled"
        self.ended_at = self.now()

    def _settle(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.ended_at = self.now()

    def to_json(self) -> dict[str, Any]:
        """JSON values only; times are RFC 3339 UTC, what is not known is null."""
        return {**self._identity(), **self._ending(), **self._wire(), **self._measures()}

    def _identity(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "run_id": self.run_id,
            "step": self.step,
            "attempt": self.attempt,
            "provider": self.provider,
            "model": self.model,
            "protocol": self.protocol,
            "started_at": rfc3339(self.started_at),
            "ended_at": rfc3339(self.ended_at),
            "outcome": self.outcome,
            "phase": self.phase,
        }

    def _ending(self) -> dict[str, Any]:
        return {
            "failure_phase": self.failure_phase,
            "cancel_phase": self.cancel_phase,
            "error_class": self.error_class,
            "http_status": self.http_status,
            "cancel_reason": self.cancel_reason,
            "cancel_observed_at": rfc3339(self.cancel_observed_at),
            "timeout_scope": self.timeout_scope,
            "retry_cause": self.retry_cause,
            "retry_delay_ms": self.retry_delay_ms,
        }

    def _wire(self) -> dict[str, Any]:
        return {
            "tool_argument_chars": self.tool_argument_chars,
            "stream_guard": self.stream_guard.to_json() if self.stream_guard else None,
            "wire_request_constraints": self.request_constraints,
            "wire_responses": [response.to_json() for response in self.wire_responses],
        }

    def _measures(self) -> dict[str, Any]:
        return {
            "first_event_at": rfc3339(self.first_event_at),
            "first_text_at": rfc3339(self.first_text_at),
            "first_argument_at": rfc3339(self.first_argument_at),
            "longest_gap_ms": self.longest_gap_ms,
            "last_byte_at": rfc3339(self.last_byte_at),
            "usage": _usage_json(self.usage),
            "usage_source": self.usage.source,
        }


def request_constraints(profile: Profile, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """What the request bound the model to: names and counts of properties, never a schema's texts."""
    return {
        "max_output_tokens": profile.max_output_tokens,
        "tools": [
            {
                "name": tool.name,
                "strict": "omitted" if tool.strict is None else tool.strict,
                "schema": _schema_counts(tool),
            }
            for tool in tools
        ],
    }


def _schema_counts(tool: ToolSpec) -> dict[str, int]:
    properties = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", ())) & set(properties)
    return {
        "properties": len(properties),
        "required_properties": len(required),
        "optional_properties": len(properties) - len(required),
    }


def _usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost": usage.cost,
    }
