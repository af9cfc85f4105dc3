"""An attempt's record as a timeline: its moments in order, with the times between them.

Pure: takes the record of contract section 10 as stored; any field may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime

# In the order in which they happen: moments at the same time keep it.
OWN_MOMENTS = (
    ("started_at", "started"),
    ("first_event_at", "first event"),
    ("first_text_at", "first text"),
    ("first_argument_at", "first argument"),
    ("last_byte_at", "last byte"),
    ("cancel_observed_at", "stop observed"),
    ("ended_at", "ended"),
)
WIRE_MOMENTS = (
    ("opened_at", "connected"),
    ("first_byte_at", "first byte"),
    ("close_started_at", "close started"),
    ("closed_at", "closed"),
)
ORDER = {
    label: number
    for number, label in enumerate(
        (
            "started",
            "connected",
            "first byte",
            "first event",
            "first text",
            "first argument",
            "last byte",
            "stop observed",
            "close started",
            "closed",
            "ended",
        )
    )
}


@dataclass(frozen=True, slots=True)
class Moment:
    label: str
    at: datetime
    since_start_ms: float
    since_previous_ms: float


def timeline(record: Mapping[str, Any]) -> list[Moment]:
    """Every moment that the record knows, in order of time."""
    found = sorted(_moments(record), key=lambda item: (item[1], ORDER[item[0].split(" (")[0]]))
    moments: list[Moment] = []
    for label, at in found:
        start, previous = found[0][1], moments[-1].at if moments else at
        moments.append(Moment(label, at, _ms(at, start), _ms(at, previous)))
    return moments


def _moments(record: Mapping[str, Any]) -> Iterator[tuple[str, datetime]]:
    for field, label in OWN_MOMENTS:
        if at := _time(record.get(field)):
            yield label, at
    responses = record.get("wire_responses") or []
    for number, response in enumerate(responses, start=1):
        for field, label in WIRE_MOMENTS:
            if at := _time(response.get(field)):
                yield (label if len(responses) == 1 else f"{label} (response {number})"), at


def _time(value: Any) -> datetime | None:
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def _ms(later: datetime, earlier: datetime) -> float:
    return round((later - earlier).total_seconds() * 1_000, 1)
