"""Envelopes put together from events that are encoded already: joining text, never encoding twice.

Pure. The same envelope goes into a page, a WebSocket message and an SSE `data:` line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streaming.feed.events import encode
from streaming.feed.window import Judgement, Page, Sequenced


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive events `first` to `last` of one generation as the envelope that every subscriber gets."""

    generation: str
    first: int
    last: int
    text: str


def envelope(
    generation: str,
    cursor: int,
    event_texts: Sequence[str],
    *,
    more: bool = False,
    attach: Mapping[str, Any] | None = None,
    snapshot: Mapping[str, Any] | None = None,
) -> str:
    """The envelope of contract section 5 around encoded events. `snapshot` only behind a leading reset."""
    parts = [
        f'{{"generation":{encode(generation)},"cursor":{cursor},"events":[',
        ",".join(event_texts),
        f'],"more":{"true" if more else "false"}',
    ]
    if attach is not None:
        parts.append(f',"attach":{encode(attach)}')
    if snapshot is not None:
        parts.append(f',"snapshot":{encode(snapshot)}')
    parts.append("}")
    return "".join(parts)


def batch(generation: str, events: Sequence[Sequenced]) -> Batch:
    """The batch of events just appended, in order and without a gap; at least one."""
    first, last = events[0].sequence, events[-1].sequence
    return Batch(
        generation,
        first,
        last,
        envelope(generation, last, [held.text for held in events]),
    )


def hello(generation: str) -> Batch:
    """What a new actor says before anything else: from here on this generation counts."""
    return Batch(generation, 0, 0, "")


def keepalive(generation: str, cursor: int) -> str:
    """An empty envelope: the connection lives, nothing is new."""
    return envelope(generation, cursor, ())


def capture_text(
    generation: str,
    judgement: Judgement,
    page: Page,
    *,
    oldest: int,
    newest: int,
    live: Mapping[str, Any] | None,
) -> str:
    """An actor's answer to a capture as JSON text. `live` only where the judgement is a reset."""
    head = encode({"generation": generation, "cursor": page.cursor, "verdict": judgement.verdict})
    tail = encode({"reason": judgement.reason, "oldest": oldest, "newest": newest, "live": live})
    more = "true" if page.more else "false"
    return f'{head[:-1]},"events":[{",".join(page.texts)}],"more":{more},{tail[1:]}'


def message(session_id: str, sent: Batch) -> dict[str, Any]:
    """The channel-layer message that carries a batch to `session.<hex>`: flat, so a copy costs nothing."""
    return {
        "type": "session.batch",
        "session_id": session_id,
        "generation": sent.generation,
        "first": sent.first,
        "last": sent.last,
        "text": sent.text,
    }
