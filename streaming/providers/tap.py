"""The wire tap: counts what one response brings and stops what would never end by itself.

It sees the whole of a read before anything of it is handed on. Pure: it closes nothing; a stop is a
`GuardStop`, and whoever reads the wire closes it first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streaming.limits import WireLimits
from streaming.providers.errors import WireError
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallIdentified,
    CallOpened,
    StepEvent,
    TextDelta,
    ThinkingDelta,
)
from streaming.providers.record import StreamGuard, WireResponse
from streaming.providers.runaway import RunCounter
from streaming.providers.wire_errors import ArgumentOverflow

# The longest name a record shows of what the provider called a tool.
NAME_CHARS = 100
# More than one read can bring.
DECODER_SLACK_CHARS = 1024 * 1024
_TEXT, _THINKING = -1, -2


class GuardStop(WireError):
    """The tap stopped the stream; the same request may well end sooner, so it is retryable."""

    def __init__(self, code: str, guard: StreamGuard) -> None:
        subject = f"the arguments of {guard.tool}" if guard.tool else "the answer"
        reason = "passed their limit" if guard.kind == "limit" else "repeated one blank character"
        super().__init__(code, f"{subject} {reason} ({guard.limit} characters)", retryable=True)
        self.guard = guard


class Tap:
    """One per response. `argument_limits` is in characters, by tool name."""

    def __init__(self, limits: WireLimits, argument_limits: Mapping[str, int], wire: WireResponse) -> None:
        self._limits = limits
        self._argument_limits = argument_limits
        self._nameless_limit = max([limits.default_argument_chars, *argument_limits.values()])
        self._wire = wire
        self._runs: dict[int, RunCounter] = {}
        self._tail = b"\n"
        self._text_chars = 0

    def count_bytes(self, data: bytes) -> None:
        """Bytes as they leave the transport, decompressed; raises WireError beyond `response_bytes`."""
        self._wire.bytes += len(data)
        self._wire.events += self._count_events(data)
        if self._wire.bytes > self._limits.response_bytes:
            raise WireError("response_too_long", "the response is longer than allowed", retryable=True)

    def _count_events(self, data: bytes) -> int:
        # A field name at a line's start tells an event from a comment without splitting the lines again.
        if self._wire.bytes == len(data):
            data = data.removeprefix(b"\xef\xbb\xbf")
        seen = self._tail + data
        self._tail = seen[-5:]
        return seen.count(b"\ndata:") + seen.count(b"\rdata:")

    def inspect(self, events: Sequence[StepEvent]) -> None:
        """All events of one read; raises GuardStop for the read as a whole, `limit` before `runaway`."""
        limit: GuardStop | None = None
        runaway: GuardStop | None = None
        for event in events:
            match event:
                case ArgumentsDelta(slot, text):
                    self._add_arguments(slot, text)
                    runaway = runaway or self._arguments_run(slot, text)
                case ArgumentsReplaced(slot, text):
                    self._replace_arguments(slot, text)
                    runaway = runaway or self._arguments_run(slot, text)
                case CallOpened(slot):
                    self._wire.tool(slot)
                case CallIdentified(slot, name, _):
                    self._wire.tool(slot).name = name[:NAME_CHARS] if name else None
                case TextDelta(text):
                    limit = limit or self._add_text(text)
                    runaway = runaway or self._text_run(_TEXT, text)
                case ThinkingDelta(text):
                    limit = limit or self._add_text(text)
                    runaway = runaway or self._text_run(_THINKING, text)
                case _:
                    pass
        stop = self._over_limit() or limit or runaway
        if stop is not None:
            raise stop

    def note_done(self, arguments_done: Mapping[int, int]) -> None:
        """How often the end of each call's arguments was announced, by slot."""
        for slot, times in arguments_done.items():
            self._wire.tool(slot).arguments_done_events = times

    def stop_for(self, overflow: ArgumentOverflow) -> GuardStop:
        """The decoder's own bound (on what it keeps and has not told of yet) as a stop of ours."""
        for tool in self._wire.tools.values():
            if tool.name == overflow.tool:
                tool.argument_chars = max(tool.argument_chars, overflow.chars)
        limit = self._limit_of(overflow.tool or None)
        guard = StreamGuard("limit", overflow.tool or None, limit, overflow.chars)
        return GuardStop("tool_arguments_too_long", guard)

    def decoder_limit(self) -> int:
        """The bound that the decoder is given: wide enough that this tap, which tells more, stops first."""
        return self._nameless_limit + DECODER_SLACK_CHARS

    def _add_arguments(self, slot: int, text: str) -> None:
        tool = self._wire.tool(slot)
        tool.argument_chars += len(text)
        tool.argument_delta_events += 1

    def _replace_arguments(self, slot: int, text: str) -> None:
        self._wire.tool(slot).argument_chars = len(text)
        self._runs.pop(slot, None)

    def _add_text(self, text: str) -> GuardStop | None:
        self._text_chars += len(text)
        if self._text_chars <= self._limits.text_chars:
            return None
        guard = StreamGuard("limit", None, self._limits.text_chars, self._text_chars)
        return GuardStop("text_too_long", guard)

    def _over_limit(self) -> GuardStop | None:
        for tool in self._wire.tools.values():
            limit = self._limit_of(tool.name)
            if tool.argument_chars > limit:
                guard = StreamGuard("limit", tool.name, limit, tool.argument_chars)
                return GuardStop("tool_arguments_too_long", guard)
        return None

    def _limit_of(self, name: str | None) -> int:
        if name is None:
            return self._nameless_limit
        return self._argument_limits.get(name, self._limits.default_argument_chars)

    def _arguments_run(self, slot: int, text: str) -> GuardStop | None:
        return self._run(slot, text, escapes=True, tool=self._wire.tool(slot).name)

    def _text_run(self, key: int, text: str) -> GuardStop | None:
        return self._run(key, text, escapes=False, tool=None)

    def _run(self, key: int, text: str, *, escapes: bool, tool: str | None) -> GuardStop | None:
        counter = self._runs.get(key)
        if counter is None:
            counter = self._runs[key] = RunCounter(self._limits.runaway_chars, escapes=escapes)
        chars = counter.feed(text)
        if not chars:
            return None
        code = "tool_arguments_runaway" if escapes else "text_runaway"
        return GuardStop(code, StreamGuard("runaway", tool, self._limits.runaway_chars, chars))
