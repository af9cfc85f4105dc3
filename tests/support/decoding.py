"""Responses as bytes, cut in every way, and what a decoder makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from streaming.limits import WireLimits
from streaming.providers.decoder import make_decoder
from streaming.providers.errors import ProviderError
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    Completed,
    StepEvent,
)
from streaming.providers.types import Protocol, StepResponse

TOOLS = frozenset({"python", "search"})
ARGUMENT_LIMITS = {"python": 16 * 1024 * 1024}


@dataclass(frozen=True)
class Decoded:
    """Where decoding ended in an error, `events` are those that came in earlier reads."""

    events: tuple[StepEvent, ...]
    error: ProviderError | None

    @property
    def response(self) -> StepResponse:
        if self.error is not None:
            raise self.error
        last = self.events[-1]
        assert isinstance(last, Completed)
        return last.response

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(call.name, json.loads(call.arguments)) for call in self.response.calls]

    @property
    def verdict(self) -> object:
        """What must be equal for any cut of the same bytes."""
        if self.error is None:
            return self.events
        error = self.error
        return type(error), error.code, error.detail, error.retryable, error.retry_after


def decode(
    protocol: Protocol,
    pieces: Iterable[bytes],
    *,
    limits: WireLimits | None = None,
    content_type: str = "text/event-stream",
    eof: bool = True,
) -> Decoded:
    """Feeds the pieces, then the end of the body, and stops where the decoder says it has finished."""
    decoder = make_decoder(
        protocol,
        limits=limits or WireLimits(),
        argument_limits=ARGUMENT_LIMITS,
        content_type=content_type,
        known_tools=TOOLS,
        secrets=("topsecret-key",),
    )
    events: list[StepEvent] = []
    try:
        for piece in pieces:
            events += decoder.feed(piece)
            if decoder.finished:
                break
        if eof and not decoder.finished:
            events += decoder.feed_eof()
    except ProviderError as error:
        return Decoded(tuple(events), error)
    return Decoded(tuple(events), None)


def each_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def two_pieces(data: bytes, most: int = 300) -> Iterator[list[bytes]]:
    """Cut in two at every offset, or at `most` of them spread evenly."""
    step = max(1, len(data) // most)
    for at in range(1, len(data), step):
        yield [data[:at], data[at:]]


def folded_arguments(events: Iterable[StepEvent]) -> dict[int, str]:
    """The arguments of each call as a consumer of the events knows them."""
    texts: dict[int, str] = {}
    for event in events:
        match event:
            case ArgumentsDelta(slot, text):
                texts[slot] = texts.get(slot, "") + text
            case ArgumentsReplaced(slot, text):
                texts[slot] = text
            case CallDropped(slot):
                texts.pop(slot, None)
            case _:
                pass
    return texts


def sse(*values: object, newline: str = "\n") -> bytes:
    """Events as an ordinary server writes them. A string is sent as it is."""
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return "".join(f"data: {text}{newline}{newline}" for text in texts).encode()


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of Chat Completions."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice], **more}


def call_chunk(*entries: dict[str, Any]) -> dict[str, Any]:
    return chunk({"tool_calls": list(entries)})


def entry(
    index: object = None, native_id: object = None, name: object = None, arguments: object = None, **more: Any
) -> dict[str, Any]:
    """One entry of `tool_calls`, with only the fields that are given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    found = {"index": index, "id": native_id, "function": function or None, **more}
    return {key: value for key, value in found.items() if value is not None}


def chat(*values: object, finish: str | None = "tool_calls", done: bool = True) -> bytes:
    """A whole Chat Completions stream around the given chunks."""
    tail: list[object] = [chunk(finish=finish)] if finish else []
    return sse(*values, *tail, *(["[DONE]"] if done else []))


def calls_of(*values: object, finish: str | None = "tool_calls") -> list[tuple[str, Any]]:
    return decode("chat_completions", [chat(*values, finish=finish)]).calls


def completed(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """The terminal event of Responses."""
    response = {"status": status, "output": list(output), **more}
    return {"type": f"response.{status}", "response": response}


def call_item(
    item_id: str | None, call_id: str | None, arguments: str, name: str = "python"
) -> dict[str, Any]:
    found = {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }
    return {key: value for key, value in found.items() if value is not None}


def item_event(kind: str, item: dict[str, Any], index: object = 0) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


def arguments_event(kind: str, text: object, item_id: str = "", index: object = 0) -> dict[str, Any]:
    field = "delta" if kind == "delta" else "arguments"
    name = f"response.function_call_arguments.{kind}"
    return {"type": name, "output_index": index, "item_id": item_id, field: text}


def text_event(
    kind: str, text: object, item_id: str = "m", index: object = 0, part: int = 0
) -> dict[str, Any]:
    field = "delta" if kind == "delta" else "text"
    name = f"response.output_text.{kind}"
    return {"type": name, "output_index": index, "content_index": part, "item_id": item_id, field: text}


def message_item(item_id: str, *texts: str) -> dict[str, Any]:
    return {
        "type": "message",
        "id": item_id,
        "content": [{"type": "output_text", "text": text} for text in texts],
    }
