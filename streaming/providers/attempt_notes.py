"""What the record learns from the events of an attempt: phases, first times, silences, what was consumed."""

from __future__ import annotations

from collections.abc import Sequence

from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    Completed,
    StepEvent,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from streaming.providers.record import AttemptRecord


class AttemptNotes:
    """Writes into `record`; keeps counts only."""

    def __init__(self, record: AttemptRecord) -> None:
        self._record = record
        self._argument_chars: dict[int, int] = {}
        self._silence_seconds = 0.0

    def waited(self, seconds: float) -> None:
        """Time spent waiting for the wire; the consumer's own time is no gap of the provider's."""
        self._silence_seconds += seconds

    def event_came(self) -> None:
        record = self._record
        if record.first_event_at is None:
            record.first_event_at = record.now()
        else:
            gap_ms = round(self._silence_seconds * 1_000)
            record.longest_gap_ms = max(record.longest_gap_ms or 0, gap_ms)
        self._silence_seconds = 0.0

    def handed_out(self, events: Sequence[StepEvent]) -> None:
        """`events` go to the consumer now."""
        record = self._record
        for event in events:
            match event:
                case TextDelta():
                    record.first_text_at = record.first_text_at or record.now()
                    record.phase = "generating_text"
                case ThinkingDelta():
                    record.phase = "generating_thinking"
                case ArgumentsDelta(slot, text):
                    self._arguments(slot, self._argument_chars.get(slot, 0) + len(text))
                case ArgumentsReplaced(slot, text):
                    self._arguments(slot, len(text))
                case CallDropped(slot):
                    self._argument_chars.pop(slot, None)
                case UsageReported(usage):
                    record.usage = usage
                case Completed(response):
                    record.usage = response.usage
                case _:
                    pass
        record.tool_argument_chars = sum(self._argument_chars.values())

    def _arguments(self, slot: int, chars: int) -> None:
        self._record.first_argument_at = self._record.first_argument_at or self._record.now()
        self._record.phase = "generating_tool_arguments"
        self._argument_chars[slot] = chars
