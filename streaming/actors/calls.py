"""A step's calls: stored whole before the first starts, run one after the other, each ended exactly once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from sessions_app.render import render_entry, render_tool, render_usage
from sessions_app.store import calls as store
from sessions_app.store import executor
from sessions_app.store.conversation import used_tool_call_ids
from sessions_app.store.steps import NewCall, StepFacts, StepRecord, record_step
from sessions_app.text import storable
from streaming.actors.conversation import Conversation
from streaming.actors.publisher import Publisher
from streaming.actors.recorder import durable, patient, shielded
from streaming.actors.run import Record
from streaming.actors.turn import Turn
from streaming.progress.projection import Projection
from streaming.providers.call_ids import assign_tool_call_ids
from streaming.providers.record import rfc3339
from streaming.providers.types import AssembledCall, CallItem, Usage
from streaming.tools.arguments import BadArguments, parse_object
from streaming.tools.base import ToolContext, ToolResult
from streaming.tools.registry import ToolRefusal


@dataclass(frozen=True, slots=True)
class Planned:
    """A stored call that waits for its turn; `entry_id` is its `tool_call` entry."""

    new: NewCall
    entry_id: UUID


class Calls:
    """All calls of one run."""

    def __init__(self, turn: Turn, conversation: Conversation) -> None:
        self._turn = turn
        self._conversation = conversation
        self._planned: dict[UUID, Planned] = {}
        self._stop = asyncio.Event()

    def interrupt(self) -> None:
        """Stop the call that runs, and every later one as it starts."""
        self._stop.set()

    async def record(self, action: Record, message_id: UUID) -> list[UUID]:
        """Store the step; its entries are published, its calls returned in output order. Raises LeaseLost."""
        turn, response = self._turn, action.response
        new_calls = await self._new_calls(action)
        facts = _facts(turn, action, message_id, new_calls)
        recorded = await durable(record_step, turn.fence, facts)
        self._publish(recorded)
        self._conversation.add_step(response, [_item(call) for call in new_calls])
        entries = {entry.tool_call_id: entry.id for entry in recorded.entries if entry.tool_call_id}
        for row, new in zip(recorded.calls, new_calls, strict=True):
            self._planned[row.id] = Planned(new, entries[row.id])
        return [row.id for row in recorded.calls]

    async def execute(self, call_pk: UUID) -> None:
        """Take the call's one start, run it, store its end, tell it. Raises LeaseLost."""
        turn, new = self._turn, self._planned[call_pk].new
        await durable(store.start_call, turn.fence, call_pk, datetime.now(UTC))
        turn.publisher.progress(
            turn.projection.running(
                new.call_id,
                tool_call_id=new.tool_call_id,
                name=new.name,
                arguments_chars=len(new.arguments),
                started_at=rfc3339(datetime.now(UTC)) or "",
                # Only where nothing was shown of it: reading 16 MiB again would hold everybody up.
                arguments=None if turn.projection.tracks(new.call_id) else new.arguments,
            )
        )
        began = time.monotonic()
        result = await self._run(new)
        await self._finish(call_pk, result, round((time.monotonic() - began) * 1000))

    async def _new_calls(self, action: Record) -> list[NewCall]:
        turn, assembled = self._turn, action.response.calls
        if not assembled:
            return []
        used = await patient(partial(executor.read, used_tool_call_ids, turn.session.id), turn.fence)
        ids = assign_tool_call_ids(assembled, used)
        prefix = turn.call_prefix(action.step, action.attempt)
        return [
            self._new_call(call, f"{prefix}-{call.slot}", mine)
            for call, mine in zip(assembled, ids, strict=True)
        ]

    def _new_call(self, call: AssembledCall, call_id: str, tool_call_id: str) -> NewCall:
        value = _object(call.arguments)
        return NewCall(
            call_id=call_id,
            tool_call_id=storable(tool_call_id),
            native_id=call.native_id,
            name=storable(call.name),
            output_index=call.slot,
            arguments=storable(call.arguments),
            value=value,
            valid=value is not None,
            echo=call.echo,
        )

    def _publish(self, recorded: StepRecord) -> None:
        turn = self._turn
        for entry in recorded.entries:
            turn.publisher.emit("message", {"entry": render_entry(entry)})
        usage = render_usage(recorded.usage)
        turn.publisher.emit("usage", {"run_id": turn.run_id, "usage": usage})

    async def _run(self, new: NewCall) -> ToolResult:
        turn = self._turn
        shown = 0

        def on_output(text: str) -> None:
            nonlocal shown
            delta = {"run_id": turn.run_id, "call_id": new.call_id, "offset_scalars": shown, "text": text}
            shown += len(text)
            turn.publisher.emit("tool_output", delta)

        tools = turn.tools
        parsed = (
            tools.check_object(new.name, new.value) if new.valid else tools.check(new.name, new.arguments)
        )
        if isinstance(parsed, ToolRefusal):
            return parsed.result
        context = ToolContext(
            session_id=str(turn.session.id),
            workspace=turn.workspace,
            call_id=new.call_id,
            on_output=on_output,
            interrupted=self._stop,
            kernel=turn.kernel,
        )
        return await turn.tools.call(parsed, context)

    async def _finish(self, call_pk: UUID, result: ToolResult, duration_ms: int) -> None:
        turn, planned = self._turn, self._planned[call_pk]
        if result.status == "interrupted":
            turn.tool_interrupted_at = result.interrupted_at or datetime.now(UTC)
            turn.kernel_after_stop = result.kernel or ""
        text = storable(result.text)
        stored = store.CallResult(
            state=result.status,
            text=text,
            output=storable(result.output) if result.output is not None else None,
            artifacts=tuple(_artifact(item) for item in result.artifacts),
            duration_ms=duration_ms,
        )
        ended = await shielded(turn.fence, durable(store.finish_call, turn.fence, call_pk, stored))
        self._conversation.add_result(planned.new.tool_call_id, text)
        tell_ended(turn.publisher, turn.projection, ended)
        if result.state_lost:
            turn.publisher.emit("note", {"code": "kernel_restarted", "text": STATE_LOST})


STATE_LOST = "The Python kernel was replaced: variables of earlier calls are gone, files are not."


def tell_ended(publisher: Publisher, projection: Projection, ended: store.EndedCall) -> None:
    """Publish a call's end; with it the call leaves the live view."""
    projection.remove(ended.call.call_id)
    publisher.emit(
        "tool", render_tool(ended.call, ended.entry, ended.arguments, call_entry_id=ended.call_entry_id)
    )


def _facts(turn: Turn, action: Record, message_id: UUID, calls: list[NewCall]) -> StepFacts:
    response = action.response
    return StepFacts(
        run_id=turn.run.id,
        step=action.step,
        attempt=action.attempt,
        message_id=message_id,
        text=response.text,
        thinking=response.thinking,
        truncated=response.truncated,
        calls=calls,
        usage=_usage(response.usage),
        thinking_echo=[dict(echo) for echo in response.thinking_echo],
        text_echo=dict(response.text_echo) if response.text_echo is not None else None,
    )


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost": usage.cost,
        "source": usage.source,
    }


def _object(arguments: str) -> dict[str, Any] | None:
    """The JSON object that the arguments spell; None where they spell none."""
    try:
        return parse_object(arguments)
    except BadArguments:
        return None


def _item(call: NewCall) -> CallItem:
    return CallItem(call.tool_call_id, call.name, call.arguments if call.valid else "{}", call.echo)


def _artifact(item: Any) -> store.NewArtifact:
    return store.NewArtifact(
        id=UUID(item.id),
        name=item.name,
        mime_type=item.mime_type,
        data=item.data,
        width=item.width,
        height=item.height,
    )
