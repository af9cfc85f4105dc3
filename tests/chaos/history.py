"""What a run under faults leaves behind, as plain values: all that the checker looks at.

Times are readings of one monotonic clock. A session is named by its id everywhere. What the API tells stands
beside what only the store knows (`started_at`, a lease): the checker needs both to tell a lie from a delay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

Outcome = Literal["ok", "fail", "unknown"]
Kind = Literal["input", "cancel", "interrupt", "delete"]


@dataclass(slots=True)
class Operation:
    """One request of a client. `ok`: a 2xx came; `fail`: a 4xx that says it did not happen; `unknown`: else.

    `order` is what an accepted input was told. `targets` are the inputs that a cancel or interrupt may take
    out, None where it may be any. A request sent again is an operation of its own, with the same input id.
    """

    kind: Kind
    session: str
    invoked: float
    ended: float
    outcome: Outcome
    input_id: str = ""
    order: int | None = None
    targets: tuple[str, ...] | None = None


@dataclass(slots=True)
class Seen:
    """An event as one reader saw it. `position` is that of the history entry it carries, if it carries one;
    `ends` are the inputs whose turn it completes."""

    generation: str
    sequence: int
    digest: str
    position: int | None = None
    entry_id: str = ""
    ends: tuple[str, ...] = ()


@dataclass(slots=True)
class Reset:
    """A reset as one reader saw it, with the cursor and the last position of the snapshot behind it."""

    generation: str
    reason: str
    cursor: int
    high_water: int = 0


@dataclass(slots=True)
class Reading:
    """Everything that one reader saw of one session, in order, over all its connections."""

    reader: str
    session: str
    log: list[Seen | Reset] = field(default_factory=list)


@dataclass(slots=True)
class Entry:
    """A line of the durable history at the end."""

    id: str
    position: int
    kind: str
    run_id: str
    input_id: str = ""


@dataclass(slots=True)
class InputEnd:
    """An input at the end, by the API."""

    input_id: str
    order: int
    state: str
    run_id: str = ""


@dataclass(slots=True)
class RunEnd:
    """A run at the end. `rank` orders its generation among those of its session: 1 is the first claim."""

    run_id: str
    state: str
    rank: int


@dataclass(slots=True)
class CallEnd:
    """A tool call at the end. `nonce` is what its code writes into the ledger; "" where it writes nothing."""

    call_id: str
    nonce: str
    status: str
    started: bool


@dataclass(slots=True)
class LedgerLine:
    """Tool code ran: written by itself, at its start."""

    nonce: str
    pid: int
    at: float


@dataclass(slots=True)
class Final:
    """One session when everything has settled. Of a deleted one nothing else is known."""

    session: str
    deleted: bool = False
    phase: str = "idle"
    pending: int = 0
    lease_live: bool = False
    entries: list[Entry] = field(default_factory=list)
    inputs: list[InputEnd] = field(default_factory=list)
    runs: list[RunEnd] = field(default_factory=list)
    calls: list[CallEnd] = field(default_factory=list)


@dataclass(slots=True)
class ProviderRequest:
    path: str
    body: Any


@dataclass(slots=True)
class History:
    """`ranks` orders every generation that a reader saw, by session, as `RunEnd.rank` does."""

    operations: list[Operation] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    finals: list[Final] = field(default_factory=list)
    ledger: list[LedgerLine] = field(default_factory=list)
    requests: list[ProviderRequest] = field(default_factory=list)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)


def digest(event: Mapping[str, Any]) -> str:
    """SHA-256 of an event in canonical form: equal for every transport and key order."""
    return hashlib.sha256(orjson.dumps(event, option=orjson.OPT_SORT_KEYS)).hexdigest()
