"""From the bytes of one response to step events: what kind of body it is, its frames, its protocol.

The body decides, not its content type: a stream under `text/plain` is read, and so is a JSON body under
`text/event-stream`. Sans-io: no clock, no transport. Raises `ProviderError` and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from streaming.limits import WireLimits
from streaming.providers.body import JsonBody
from streaming.providers.chat_completions import ChatCompletionsReader
from streaming.providers.error_reading import is_error
from streaming.providers.events import StepEvent
from streaming.providers.provider_json import BadJson, parse, parse_or_none
from streaming.providers.responses import ResponsesReader
from streaming.providers.sse import DONE, SseDecoder, SseEvent
from streaming.providers.types import Protocol as WireProtocol
from streaming.providers.wire_errors import damaged, empty, over_limit, web_page

_BOM = b"\xef\xbb\xbf"
_DONE_SPELLINGS = frozenset({DONE, DONE.lower(), f'"{DONE}"'})
# Heartbeats that some proxies write as data. Whatever has a bracket, quote or colon may be half an event.
_HEARTBEAT = re.compile(r"\[?[A-Za-z][A-Za-z _-]{0,31}\]?")


class Decoder(Protocol):
    """`feed` and `feed_eof` raise `ProviderError`; after that, and once `finished`, feed nothing more.

    `finished`: the terminal event was seen, the transport may be closed at once. `ending`: a finish was
    announced and only trailing chunks may follow, so that whatever ends the transport now is an EOF.
    """

    finished: bool

    @property
    def ending(self) -> bool: ...
    @property
    def arguments_done(self) -> Mapping[int, int]: ...
    def feed(self, data: bytes) -> list[StepEvent]: ...
    def feed_eof(self) -> list[StepEvent]: ...
    def take(self) -> list[StepEvent]: ...


class Reader(Protocol):
    """One protocol's half: parsed objects in, events gathered in `events`."""

    events: list[StepEvent]
    finished: bool

    @property
    def ending(self) -> bool: ...
    @property
    def arguments_done(self) -> Mapping[int, int]: ...
    def on_object(self, event_name: str, value: Mapping[str, Any], /) -> None: ...
    def on_body(self, body: Mapping[str, Any], /) -> None: ...
    def on_done(self) -> None: ...
    def on_eof(self) -> None: ...


def make_decoder(
    protocol: WireProtocol,
    *,
    limits: WireLimits,
    argument_limits: Mapping[str, int],
    content_type: str = "",
    known_tools: frozenset[str],
    secrets: tuple[str, ...] = (),
) -> Decoder:
    """A decoder for one response. `secrets` never stand in the detail of an error.

    `content_type` is asked only where the body has not a byte that tells.
    """
    kind = ChatCompletionsReader if protocol == "chat_completions" else ResponsesReader
    return BodyDecoder(kind(limits, argument_limits, known_tools, secrets), limits, content_type)


class BodyDecoder:
    """Finds out what the body is by its first character, then takes it apart."""

    def __init__(self, reader: Reader, limits: WireLimits, content_type: str) -> None:
        self.finished = False
        self._reader = reader
        self._limits = limits
        self._html = "html" in content_type.lower()
        self._head = b""
        self._bytes = 0
        self._sse: SseDecoder | None = None
        self._json: JsonBody | None = None

    @property
    def ending(self) -> bool:
        return self._reader.ending

    @property
    def arguments_done(self) -> Mapping[int, int]:
        """How often the wire announced the end of a call's arguments, by slot."""
        return self._reader.arguments_done

    @property
    def comments(self) -> int:
        """Comment lines so far: signs of life, not events."""
        return self._sse.comments if self._sse is not None else 0

    def feed(self, data: bytes) -> list[StepEvent]:
        if self.finished:
            return []
        self._bytes += len(data)
        if self._bytes > self._limits.response_bytes:
            raise over_limit("bytes in a response")
        if self._sse is None and self._json is None:
            data = self._recognize(data)
        if self._sse is not None:
            self._read_events(self._sse.feed(data), cut_off=False)
        elif self._json is not None:
            self._json.feed(data)
        return self.take()

    def feed_eof(self) -> list[StepEvent]:
        """The body has ended. Raises unless the response is complete."""
        if self.finished:
            return []
        if self._sse is not None:
            self._read_events(self._sse.feed_eof(), cut_off=True)
        elif self._json is not None:
            self._read_body(self._json)
        else:
            raise web_page() if self._html else empty()
        if not self._reader.finished:
            self._reader.on_eof()
        return self.take()

    def take(self) -> list[StepEvent]:
        """What was told before a `feed` raised, for who counts it; after a `feed` that did not: nothing."""
        self.finished = self._reader.finished
        events, self._reader.events = self._reader.events, []
        return events

    def _recognize(self, data: bytes) -> bytes:
        """The bytes to read on with, once the first telling one is there."""
        self._head += data
        if _BOM.startswith(self._head):
            return b""
        body = self._head.removeprefix(_BOM).lstrip()
        if not body:
            # Blank lines tell nothing, and are not kept.
            self._head = b" "
            return b""
        if body.startswith(b"<"):
            raise web_page()
        if body.startswith((b"{", b"[")):
            self._json = JsonBody()
        else:
            self._sse = SseDecoder(self._limits)
        self._head = b""
        return body

    def _read_events(self, events: list[SseEvent], *, cut_off: bool) -> None:
        for event in events:
            if self._reader.finished:
                return
            self._read_event(event, cut_off=cut_off)

    def _read_event(self, event: SseEvent, *, cut_off: bool) -> None:
        text = event.data.strip()
        if text in _DONE_SPELLINGS:
            self._reader.on_done()
            return
        try:
            value = parse(text)
        except BadJson:
            self._read_damaged(event, text, cut_off=cut_off)
            return
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict) and (not event.stray or is_error(entry)):
                self._reader.on_object(event.name, entry)

    def _read_damaged(self, event: SseEvent, text: str, *, cut_off: bool) -> None:
        """An unfinished event is void at the end of the body, and damage before it."""
        for line in text.splitlines():
            value = parse_or_none(line)
            if isinstance(value, dict) and is_error(value):
                # An error written into the event that was being sent.
                self._reader.on_object("error", value)
        if event.name == "error" and text:
            self._reader.on_object("error", {"error": text})
        if not (cut_off or event.stray or _HEARTBEAT.fullmatch(text)):
            raise damaged()

    def _read_body(self, body: JsonBody) -> None:
        for whole, value in body.values():
            if self._reader.finished:
                return
            if whole:
                self._reader.on_body(value)
            else:
                self._reader.on_object("", value)
