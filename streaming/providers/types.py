"""What a step asks of a provider and what it gets back, free of any one protocol.

Plain values: no I/O, no Django, no httpx. Both request builders read `StepRequest`; both
decoders end in one `StepResponse`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["responses", "chat_completions"]
UsageSource = Literal["reported", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one response; None is unknown, never zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    source: UsageSource = "unknown"


@dataclass(frozen=True, slots=True)
class Profile:
    """A provider profile as an attempt uses it. `api_key` is the clear key: never logged, never repr'd."""

    name: str
    base_url: str
    protocol: Protocol
    model: str
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_output_tokens: int | None = None
    connect_timeout: float = 10.0
    first_event_timeout: float = 120.0
    idle_timeout: float = 120.0
    request_timeout: float = 600.0
    run_timeout: float = 3_600.0
    max_retries: int = 4
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is declared to the model. `strict` None means: not sent at all.

    `max_argument_chars` None is the server's bound for all tools that declare none. What is written of
    `preview_argument` is shown while the model still writes.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool | None = None
    max_argument_chars: int | None = None
    preview_argument: str | None = None


@dataclass(frozen=True, slots=True)
class ImagePart:
    mime_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class UserItem:
    text: str
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class ThinkingItem:
    """`echo` is the protocol's own form (a reasoning item, `reasoning_details`), sent back as it came."""

    text: str
    echo: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AssistantItem:
    text: str
    echo: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CallItem:
    """A call in history. `arguments` is what goes back: valid JSON text of an object."""

    tool_call_id: str
    name: str
    arguments: str
    echo: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ResultItem:
    tool_call_id: str
    text: str


Item = UserItem | ThinkingItem | AssistantItem | CallItem | ResultItem
"""One history item. In a step: thinking, then text, then its calls, then all their results."""


@dataclass(frozen=True, slots=True)
class StepRequest:
    instructions: str
    items: Sequence[Item]
    tools: Sequence[ToolSpec]


@dataclass(frozen=True, slots=True)
class AssembledCall:
    """One whole call.

    `slot` is the decoder's key of the call in this attempt (as in the events), dense from 0 in output
    order as first seen. `native_id` is the provider's id, "" where the wire gives none; `arguments` is
    the raw JSON text, repaired only as the wire rules say ("" becomes "{}").
    """

    slot: int
    native_id: str
    name: str
    arguments: str
    echo: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StepResponse:
    """A response that reached its terminal event. `calls` are in output order."""

    text: str = ""
    thinking: str = ""
    calls: tuple[AssembledCall, ...] = ()
    usage: Usage = Usage()
    finish: str = ""
    truncated: bool = False
    refusal: bool = False
    thinking_echo: tuple[Mapping[str, Any], ...] = ()
    text_echo: Mapping[str, Any] | None = None
