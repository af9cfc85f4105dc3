"""A projection, what happens to it, and what a client makes of the changes."""

from __future__ import annotations

from typing import Any

from streaming.limits import ProgressLimits
from streaming.progress.projection import Change, Projection
from streaming.providers.events import ArgumentsDelta, CallIdentified, StepEvent
from tests.unit.progress.builders import STARTED

PREFIX = "3-9f2c1ab4-r1-2-1"
CLEARED = Change(None, immediate=True)


def projection(**keys: str) -> Projection:
    made = Projection(ProgressLimits(), keys or {"python": "code"})
    made.begin(PREFIX)
    return made


def apply(made: Projection, *events: StepEvent) -> list[Change]:
    return [change for event in events for change in made.apply(event, STARTED)]


def write(made: Projection, slot: int, arguments: str = '{"code":"x"}', name: str = "python") -> list[Change]:
    return apply(made, CallIdentified(slot, name, f"id{slot}"), ArgumentsDelta(slot, arguments))


def run(made: Projection, slot: int, arguments: str | None = None, **changed: Any) -> list[Change]:
    facts = {"tool_call_id": f"id{slot}", "name": "python", "arguments_chars": 12, "started_at": "later"}
    return made.running(f"{PREFIX}-{slot}", arguments=arguments, **{**facts, **changed})


def folded(shown: list[Any], changes: list[Change]) -> list[Any]:
    """What a client makes of the changes."""
    for change in changes:
        progress = change.progress
        if progress is None:
            shown = []
        elif any(known["call_id"] == progress["call_id"] for known in shown):
            shown = [progress if known["call_id"] == progress["call_id"] else known for known in shown]
        else:
            shown = [*shown, progress]
    return shown


def preview_of(made: Projection, at: int = 0) -> Any:
    return made.snapshot()[at].get("preview")
