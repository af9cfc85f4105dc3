"""What a protocol decoder says while a response arrives.

Provisional until `Completed`: nothing of an attempt that does not end in it may last. A call is
named by its `slot`, an int of the attempt's own, never reused in it and stable from `CallOpened` on.
"""

from __future__ import annotations

from dataclasses import dataclass

from streaming.providers.types import StepResponse, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallOpened:
    """A call exists; its name and id may still be unknown."""

    slot: int


@dataclass(frozen=True, slots=True)
class CallIdentified:
    """Name, id, or both became known (the whole value so far; None where still unknown)."""

    slot: int
    name: str | None
    native_id: str | None


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """The next raw fragment of the JSON text of the arguments."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class ArgumentsReplaced:
    """What was shown of the arguments is void: the whole raw text so far is `text`."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class CallDropped:
    """What looked like a call was none (a nameless phantom, a repeat of another)."""

    slot: int


@dataclass(frozen=True, slots=True)
class UsageReported:
    usage: Usage


@dataclass(frozen=True, slots=True)
class Completed:
    """The terminal event was seen; last event of a decoder."""

    response: StepResponse


StepEvent = (
    TextDelta
    | ThinkingDelta
    | CallOpened
    | CallIdentified
    | ArgumentsDelta
    | ArgumentsReplaced
    | CallDropped
    | UsageReported
    | Completed
)
