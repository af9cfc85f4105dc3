"""What sessions, inputs, runs and entries look like in answers; the OpenAPI document is made from these."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sessions_app.api.mcp_servers import McpServerOut
from sessions_app.api.shapes import Id, Shown, Time

Phase = Literal["idle", "preparing", "generating", "running", "waiting_approval", "interrupting"]


class Status(Shown):
    phase: Phase
    run_id: Id | None
    interrupt_requested: bool
    blocking_reason: str | None


class Usage(Shown):
    """Null is unknown; it is never shown as zero."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None
    source: Literal["reported", "estimated", "unknown"]


class Cursor(Shown):
    generation: str
    sequence: int


class InputOut(Shown):
    id: Id
    text: str = Field(description="A bounded preview where inputs are listed with their session.")
    text_complete: bool
    attachments: list[dict[str, Any]]
    when_busy: Literal["queue", "steer", "interrupt", "reject"]
    state: Literal["pending", "committed", "cancelled"]
    order: int
    run_id: Id | None
    outcome: str | None = Field(description="The state of its run, once that has ended.")
    created_at: Time


class InputList(Shown):
    items: list[InputOut]
    next: str | None


class EntryTool(Shown):
    tool_call_id: str
    progress_call_id: str
    name: str
    status: str = Field(description="Of a tool_call always `requested`: its tool_result tells how it ended.")


class EntryOut(Shown):
    id: Id
    position: int
    kind: Literal["user", "assistant", "thinking", "tool_call", "tool_result", "note"]
    run_id: Id | None
    input_id: Id | None
    created_at: Time
    content: list[dict[str, Any]]
    content_complete: bool
    message_id: Id | None = None
    truncated: bool = False
    tool: EntryTool | None = None


class HistoryTail(Shown):
    items: list[EntryOut]
    older: str | None
    high_water: int


class HistoryPage(HistoryTail):
    newer: str | None


class SessionSummary(Shown):
    id: Id
    name: str
    workspace: str
    provider: str
    model: str
    instructions: str
    mcp_servers: list[McpServerOut]
    created_at: Time
    activity_at: Time
    archived: bool
    status: Status
    input_order: int
    usage: Usage


class SessionList(Shown):
    items: list[SessionSummary]
    next: str | None


class SessionOut(SessionSummary):
    """One consistent snapshot of a session."""

    pending_inputs: list[InputOut]
    pending_approvals: list[dict[str, Any]]
    current_message: dict[str, Any] | None
    current_progress: list[dict[str, Any]]
    current_output: list[dict[str, Any]]
    history: HistoryTail
    cursor: Cursor


class Attach(Shown):
    verdict: Literal["replay", "reset", "up_to_date"]
    reason: str | None
    oldest: int
    newest: int


class StreamPage(Shown):
    generation: str
    cursor: int
    events: list[dict[str, Any]]
    attach: Attach
    more: bool
    snapshot: SessionOut | None = None


class Interrupt(Shown):
    """The proof of a stop."""

    requested_at: Time
    by: str
    provider_closed_at: Time | None
    tool_interrupted_at: Time | None
    kernel: Literal["idle", "restarted"] | None
    settled_at: Time | None


class RunOut(Shown):
    id: Id
    session_id: Id
    state: Literal["running", "completed", "interrupted", "failed", "abandoned"]
    input_ids: list[Id]
    steps: int
    provider: str
    model: str
    usage: Usage
    error: dict[str, Any] | None
    started_at: Time
    ended_at: Time | None
    interrupt: Interrupt | None


class RunList(Shown):
    items: list[RunOut]
    next: str | None


class ContentPart(Shown):
    field: str
    encoding: Literal["utf8"]
    offset_bytes: int
    text: str
    complete: bool = Field(description="True on the part that ends the field.")


class ContentPage(Shown):
    parts: list[ContentPart]
    next: str | None
