"""Responses: from parsed events to step events. Sans-io; frames and errors of bytes are not its work.

Its `thinking_echo` holds the reasoning items as they came, to be sent back unchanged before their calls;
`text_echo` the fields that belong on the assistant message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streaming.limits import WireLimits
from streaming.providers.answer import Answer
from streaming.providers.call_drafts import CallDrafts
from streaming.providers.classify import classify_error_object
from streaming.providers.error_reading import is_error
from streaming.providers.events import Completed, StepEvent, UsageReported
from streaming.providers.response_end import Ending, conclude
from streaming.providers.responses_calls import ItemCalls
from streaming.providers.responses_items import KINDS, ItemTable, Kind, OutputItem, text_of
from streaming.providers.responses_text import ItemTexts, delta_text
from streaming.providers.types import Usage
from streaming.providers.usage import read_usage
from streaming.providers.wire_errors import ended_early, provider_failed

Event = Mapping[str, Any]
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.done"})
_STOPPED = frozenset({"response.cancelled", "response.canceled"})
# Reasoning, messages and tools of the server's own come beside calls.
_ITEMS_PER_CALL = 4


class ResponsesReader:
    """`on_object` for each event, `on_body` for a whole response, `on_eof`. Events gather in `events`."""

    # Only its terminal event ends a response, and that finishes at once.
    ending = False

    def __init__(
        self,
        limits: WireLimits,
        argument_limits: Mapping[str, int],
        known_tools: frozenset[str],
        secrets: tuple[str, ...],
    ) -> None:
        self.events: list[StepEvent] = []
        self.finished = False
        self._secrets = secrets
        self._answer = Answer(self._emit, limits)
        self._drafts = CallDrafts(self._emit, limits, argument_limits, known_tools)
        self._table = ItemTable(limits.calls * _ITEMS_PER_CALL)
        self._texts = ItemTexts(self._answer)
        self._calls = ItemCalls(self._drafts, self._table)
        self._message_echo: dict[str, Any] = {}
        self.arguments_done: dict[int, int] = {}

    def on_object(self, event_name: str, event: Event) -> None:
        kind = text_of(event.get("type")) or event_name
        if kind == "response.failed":
            raise self._failure(event.get("response"))
        if kind in _STOPPED:
            raise ended_early()
        if kind in _TERMINAL:
            response = event.get("response")
            self._complete(response if isinstance(response, dict) else event, kind)
        elif (handle := _HANDLERS.get(kind)) is not None:
            handle(self, event)
        elif not kind.startswith("response.") or kind == "response.error":
            self._check_error(event, event_name)

    def on_done(self) -> None:
        """`[DONE]` is no end here: the response said none of its own."""
        raise ended_early()

    def on_eof(self) -> None:
        raise ended_early()

    def on_body(self, body: Event) -> None:
        """A whole response in place of a stream."""
        if body.get("status") == "failed":
            raise self._failure(body)
        self._check_error(body, "")
        if "output" in body or "output_text" in body:
            self._complete(body, "response.completed")

    def _emit(self, event: StepEvent) -> None:
        self.events.append(event)

    def _check_error(self, event: Event, event_name: str) -> None:
        if is_error(event, event_name):
            raise classify_error_object(event, secrets=self._secrets)

    def _failure(self, response: object) -> Exception:
        error = response.get("error") if isinstance(response, dict) else None
        return classify_error_object(error, secrets=self._secrets) if error else provider_failed()

    def _part(self, kind: Kind, event: Event) -> OutputItem:
        return self._table.for_part(kind, text_of(event.get("item_id")), index_of(event.get("output_index")))

    def _on_added(self, event: Event) -> None:
        self._item(event, self._table.for_added, done=False)

    def _on_done(self, event: Event) -> None:
        self._item(event, self._table.for_done, done=True)

    def _item(
        self, event: Event, find: Callable[[Kind, str, str, int | None], OutputItem], *, done: bool
    ) -> None:
        whole = event.get("item")
        kind = KINDS.get(text_of(whole.get("type"))) if isinstance(whole, dict) else None
        if kind is None or not isinstance(whole, dict):
            return
        item_id = text_of(whole.get("id")) or text_of(event.get("item_id"))
        item = find(kind, item_id, text_of(whole.get("call_id")), index_of(event.get("output_index")))
        self._state(item, whole)
        item.done = item.done or done

    def _state(self, item: OutputItem, whole: Event) -> None:
        """All that an item says of itself; what is known stays."""
        if item.kind == "call":
            self._calls.state(item, whole)
        elif item.kind == "message":
            self._texts.state_message(item, whole)
            if isinstance(whole.get("phase"), str):
                self._message_echo["phase"] = self._answer.keep_echo(whole["phase"])
        else:
            self._texts.state_reasoning(item, whole)
            self._keep_reasoning(item, whole)

    def _keep_reasoning(self, item: OutputItem, whole: Event) -> None:
        """The newest form, but never one that has lost its encrypted content."""
        known = item.whole or {}
        if whole != known and (whole.get("encrypted_content") or not known.get("encrypted_content")):
            item.whole = self._answer.keep_echo(whole)

    def _on_text(self, event: Event) -> None:
        self._texts.add(self._part("message", event), part_of(event), delta_text(event.get("delta")))

    def _on_text_done(self, event: Event) -> None:
        self._texts.state_part(self._part("message", event), part_of(event), text_of(event.get("text")))

    def _on_refusal(self, event: Event) -> None:
        item = self._part("message", event)
        self._texts.add(item, part_of(event), delta_text(event.get("delta")), refusal=True)

    def _on_refusal_done(self, event: Event) -> None:
        item = self._part("message", event)
        self._texts.state_part(item, part_of(event), text_of(event.get("refusal")), refusal=True)

    def _on_content_part(self, event: Event) -> None:
        part = event.get("part")
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict):
            return
        if kind in ("output_text", "text"):
            self._on_text_done({**event, "text": part.get("text")})
        elif kind == "refusal":
            self._on_refusal_done({**event, "refusal": part.get("refusal")})
        elif kind == "reasoning_text":
            self._on_reasoning_done({**event, "text": part.get("text")})

    def _on_summary(self, event: Event) -> None:
        self._thought(event, "summary", "summary_index", "delta", self._texts.add_thought)

    def _on_summary_done(self, event: Event) -> None:
        self._thought(event, "summary", "summary_index", "text", self._texts.state_thought)

    def _on_reasoning(self, event: Event) -> None:
        self._thought(event, "content", "content_index", "delta", self._texts.add_thought)

    def _on_reasoning_done(self, event: Event) -> None:
        self._thought(event, "content", "content_index", "text", self._texts.state_thought)

    def _thought(
        self,
        event: Event,
        source: str,
        index: str,
        field: str,
        tell: Callable[[OutputItem, str, object, str], None],
    ) -> None:
        item = self._part("reasoning", event)
        tell(item, source, index_of(event.get(index)) or 0, delta_text(event.get(field)))

    def _on_arguments(self, event: Event) -> None:
        self._calls.add(self._part("call", event), event)

    def _on_arguments_done(self, event: Event) -> None:
        item = self._part("call", event)
        self._calls.state(item, event)
        if item.draft is not None and item.draft.slot is not None:
            self.arguments_done[item.draft.slot] = self.arguments_done.get(item.draft.slot, 0) + 1

    def _complete(self, response: Event, kind: str) -> None:
        status = response.get("status")
        if status == "failed":
            raise self._failure(response)
        if status in ("cancelled", "canceled", "queued"):
            raise ended_early()
        self._take_output(response)
        ending, finish = _ending(response, kind)
        usage = read_usage(response.get("usage"))
        if usage is not None:
            self._emit(UsageReported(usage))
        self._calls.name_by_items()
        concluded = conclude(
            self._answer,
            self._drafts,
            ending=ending,
            finish=finish,
            usage=usage or Usage(),
            thinking_echo=self._reasoning_echo(),
            text_echo=self._message_echo or None,
        )
        self.finished = True
        self._emit(Completed(self._calls.in_output_order(concluded)))

    def _take_output(self, response: Event) -> None:
        """What only the terminal response tells: all of it, on servers that send no item events."""
        output = response.get("output")
        for position, whole in enumerate(output if isinstance(output, list) else []):
            kind = KINDS.get(text_of(whole.get("type"))) if isinstance(whole, dict) else None
            if kind is not None:
                self._state(self._table.for_listed(kind, whole, position), whole)
        text = response.get("output_text")
        if isinstance(text, str) and not self._table.of_kind("message"):
            self._answer.add_text(text)

    def _reasoning_echo(self) -> tuple[Event, ...]:
        return tuple(item.whole for item in self._table.of_kind("reasoning") if item.whole is not None)


def index_of(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def part_of(event: Event) -> int:
    return index_of(event.get("content_index")) or 0


def _ending(response: Event, kind: str) -> tuple[Ending, str]:
    status = text_of(response.get("status"))
    if kind != "response.incomplete" and status != "incomplete":
        return "whole", status or "completed"
    details = response.get("incomplete_details")
    reason = text_of(details.get("reason")) if isinstance(details, dict) else ""
    return ("filter" if reason == "content_filter" else "limit"), reason or "incomplete"


_HANDLERS: Mapping[str, Callable[[ResponsesReader, Event], None]] = {
    "response.output_item.added": ResponsesReader._on_added,
    "response.output_item.done": ResponsesReader._on_done,
    "response.content_part.added": ResponsesReader._on_content_part,
    "response.content_part.done": ResponsesReader._on_content_part,
    "response.output_text.delta": ResponsesReader._on_text,
    "response.output_text.done": ResponsesReader._on_text_done,
    "response.refusal.delta": ResponsesReader._on_refusal,
    "response.refusal.done": ResponsesReader._on_refusal_done,
    "response.function_call_arguments.delta": ResponsesReader._on_arguments,
    "response.function_call_arguments.done": ResponsesReader._on_arguments_done,
    "response.reasoning_summary_text.delta": ResponsesReader._on_summary,
    "response.reasoning_summary_text.done": ResponsesReader._on_summary_done,
    "response.reasoning_summary.delta": ResponsesReader._on_summary,
    "response.reasoning_summary.done": ResponsesReader._on_summary_done,
    "response.reasoning_text.delta": ResponsesReader._on_reasoning,
    "response.reasoning_text.done": ResponsesReader._on_reasoning_done,
    "response.reasoning.delta": ResponsesReader._on_reasoning,
    "response.reasoning.done": ResponsesReader._on_reasoning_done,
}
