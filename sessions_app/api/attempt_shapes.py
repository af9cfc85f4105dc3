"""The record of an attempt as answers show it: names, counts and times, as contract section 10 lists them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sessions_app.api.shapes import Id, Shown, Time

AttemptPhase = Literal[
    "connecting",
    "waiting_first_event",
    "generating_text",
    "generating_thinking",
    "generating_tool_arguments",
    "completing",
    "retry_wait",
]


class StreamGuard(Shown):
    kind: Literal["limit", "runaway"]
    tool: str | None
    limit: int
    chars: int


class SchemaCounts(Shown):
    properties: int
    required_properties: int
    optional_properties: int


class OfferedTool(Shown):
    name: str
    strict: Literal["omitted"] | bool
    counts: SchemaCounts = Field(alias="schema")


class RequestConstraints(Shown):
    max_output_tokens: int | None
    tools: list[OfferedTool]


class WireTool(Shown):
    index: int
    name: str | None
    argument_chars: int
    argument_delta_events: int
    arguments_done_events: int


class WireResponse(Shown):
    status: int | None
    opened_at: Time
    first_byte_at: Time | None
    bytes: int
    events: int
    close_started_at: Time | None
    closed_at: Time | None = Field(None, description="Absent where closing failed: see close_error_type.")
    close_error_type: str | None
    body_eof_observed: bool
    tools: list[WireTool]


class AttemptUsage(Shown):
    """Null is unknown; it is never shown as zero."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None


class AttemptOut(Shown):
    """One try at one step."""

    id: Id
    run_id: Id
    step: int
    attempt: int
    provider: str
    model: str
    protocol: str
    started_at: Time
    ended_at: Time | None
    outcome: Literal["completed", "failed", "cancelled"] | None
    phase: AttemptPhase | None
    failure_phase: AttemptPhase | None
    cancel_phase: AttemptPhase | None
    error_class: str | None
    http_status: int | None = Field(description="Of a refusal.")
    cancel_reason: Literal["user_stop", "superseded", "shutdown", "lease_lost"] | None
    cancel_observed_at: Time | None
    timeout_scope: Literal["connect", "first_event", "idle", "request", "run"] | None
    retry_cause: str | None
    retry_delay_ms: int | None
    tool_argument_chars: int
    stream_guard: StreamGuard | None
    wire_request_constraints: RequestConstraints
    wire_responses: list[WireResponse]
    first_event_at: Time | None
    first_text_at: Time | None
    first_argument_at: Time | None
    longest_gap_ms: int | None
    last_byte_at: Time | None
    usage: AttemptUsage
    usage_source: Literal["reported", "estimated", "unknown"]


class AttemptList(Shown):
    items: list[AttemptOut]
    next: str | None
