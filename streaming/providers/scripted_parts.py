"""What a scripted model answers, free of any protocol: thinking, text and calls, and how they are cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Say:
    """Text, in deltas of `fragments` characters (0: whole)."""

    text: str
    fragments: int = 0


@dataclass(frozen=True, slots=True)
class Think:
    text: str
    fragments: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A call; `arguments` is JSON text as it is, or a mapping. Cuts fall anywhere, also inside an escape."""

    name: str
    arguments: str | Mapping[str, Any]
    id: str = "call_1"
    fragments: int = 64

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


Part = Say | Think | Call


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole response. `usage` is (input, output) tokens, None for a server that reports none."""

    parts: Sequence[Part]
    usage: tuple[int, int] | None = (5, 7)
    finish: Finish = "stop"
    model: str = "scripted"

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]


def pieces(text: str, size: int) -> Iterator[str]:
    """`text` in pieces of `size` characters; whole for 0, nothing for empty text."""
    if size <= 0:
        size = max(1, len(text))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def sse(data: Mapping[str, Any] | str, name: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()
