"""A completed step, stored whole in one transaction: what was said, thought and asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Entry, Run, Session, ToolCall
from sessions_app.store.entries import Draft, append, text_draft
from sessions_app.store.fence import Fence, hold
from sessions_app.text import storable
from sessions_app.usage import add_usage


@dataclass(frozen=True, slots=True)
class NewCall:
    """`value` is the parsed JSON of the arguments, or the text itself where that is no JSON object."""

    call_id: str
    tool_call_id: str
    native_id: str
    name: str
    output_index: int
    arguments: str
    value: Any
    valid: bool
    echo: Any = None


@dataclass(frozen=True, slots=True)
class StepFacts:
    run_id: UUID
    step: int
    attempt: int
    message_id: UUID
    text: str
    thinking: str
    truncated: bool
    calls: Sequence[NewCall]
    usage: dict[str, Any]
    thinking_echo: Sequence[Any] = ()
    text_echo: Any = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """`entries` in order of position; `calls` in output order."""

    entries: list[Entry]
    calls: list[ToolCall]
    usage: dict[str, Any]


def record_step(fence: Fence, facts: StepFacts) -> StepRecord:
    """Store a step before any of its calls starts; one that is stored is told again. Raises LeaseLost."""
    with transaction.atomic():
        session = hold(fence)
        if Run.objects.filter(id=facts.run_id, steps__gte=facts.step).exists():
            return _recorded(session, facts)
        calls = [_make_call(session, fence, facts, call) for call in facts.calls]
        entries = append(session, _drafts(facts, calls))
        usage = _count_usage(session, facts)
        return StepRecord(entries, calls, usage)


def _recorded(session: Session, facts: StepFacts) -> StepRecord:
    """A step just stored, read back: nobody else appends, so its entries are the last ones."""
    calls = list(ToolCall.objects.filter(run_id=facts.run_id, step=facts.step))
    order = [call.call_id for call in facts.calls]
    calls.sort(key=lambda call: order.index(call.call_id))
    newest = session.entries.select_related("tool_call").order_by("-position")
    count = len(calls) + bool(facts.text) + bool(facts.thinking)
    return StepRecord(list(newest[:count])[::-1], calls, dict(session.usage))


def _make_call(session: Session, fence: Fence, facts: StepFacts, call: NewCall) -> ToolCall:
    text = storable(call.arguments)
    size = len(text.encode())
    return ToolCall.objects.create(
        session=session,
        run_id=facts.run_id,
        generation=fence.generation,
        step=facts.step,
        attempt=facts.attempt,
        output_index=call.output_index,
        call_id=call.call_id,
        tool_call_id=storable(call.tool_call_id),
        native_id=storable(call.native_id),
        name=storable(call.name),
        arguments_text=text if size <= settings.ALBEDO["inline_bytes"] else "",
        arguments_bytes=size,
        arguments_valid=call.valid,
        echo=call.echo,
        created_at=timezone.now(),
    )


def _drafts(facts: StepFacts, calls: Sequence[ToolCall]) -> list[Draft]:
    """The message's last entry has its id, so that whoever showed it provisionally can let go."""
    drafts = []
    if facts.thinking:
        closes = {} if facts.text else {"id": facts.message_id, "message_id": facts.message_id}
        drafts.append(text_draft("thinking", storable(facts.thinking), run_id=facts.run_id, **closes))
    if facts.text:
        drafts.append(
            text_draft(
                "assistant",
                storable(facts.text),
                run_id=facts.run_id,
                id=facts.message_id,
                message_id=facts.message_id,
                truncated=facts.truncated,
            )
        )
    for row, new in zip(calls, facts.calls, strict=True):
        drafts.append(_call_draft(facts, row, new))
    return _with_echo(drafts, facts)


def _call_draft(facts: StepFacts, row: ToolCall, new: NewCall) -> Draft:
    if row.arguments_bytes <= settings.ALBEDO["inline_bytes"]:
        value = new.value if new.valid else row.arguments_text
        part = {"kind": "json", "field": "arguments", "value": value}
        return Draft("tool_call", content=[part], run_id=facts.run_id, tool_call=row)
    return Draft(
        "tool_call", large={"arguments": storable(new.arguments)}, run_id=facts.run_id, tool_call=row
    )


def _with_echo(drafts: list[Draft], facts: StepFacts) -> list[Draft]:
    """What must be echoed of the reasoning stands on the step's first entry: thinking may have no text."""
    echoes: list[dict[str, Any]] = [{} for _ in drafts]
    if drafts and facts.thinking_echo:
        echoes[0]["thinking"] = list(facts.thinking_echo)
    for draft, echo in zip(drafts, echoes, strict=True):
        if draft.kind == "assistant" and facts.text_echo is not None:
            echo["text"] = facts.text_echo
    return [replace(draft, echo=echo or None) for draft, echo in zip(drafts, echoes, strict=True)]


def _count_usage(session: Session, facts: StepFacts) -> dict[str, Any]:
    run = Run.objects.get(id=facts.run_id)
    run.usage = add_usage(run.usage, facts.usage)
    run.steps = facts.step
    run.save(update_fields=["usage", "steps"])
    session.usage = add_usage(session.usage, facts.usage)
    session.save(update_fields=["usage"])
    return dict(session.usage)
