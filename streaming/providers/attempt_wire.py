"""The reading side of an attempt: one exchange, its tap and decoder, and the deadline of every wait.

It closes the transport before it lets a deadline be known. It decides no outcome.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from streaming.providers.attempt_notes import AttemptNotes
from streaming.providers.classify import classify_status
from streaming.providers.deadlines import Deadlines
from streaming.providers.decoder import Decoder, make_decoder
from streaming.providers.errors import ProviderError, StatusError, TimeoutScope, TransportError
from streaming.providers.events import StepEvent
from streaming.providers.record import AttemptRecord, WireResponse
from streaming.providers.requests import HttpRequest, secrets_of
from streaming.providers.requests_chat import tool_names
from streaming.providers.shared import Shared
from streaming.providers.tap import Tap
from streaming.providers.transport import Exchange
from streaming.providers.types import Profile, StepRequest
from streaming.providers.wire_errors import ArgumentOverflow

# The end of the body follows its terminal event at once or not at all; seeing it keeps the connection.
DRAIN_SECONDS = 0.1
# What a refusal says is worth a short wait, never a deadline's length.
ERROR_BODY_SECONDS = 5.0


class AttemptWire:
    """One exchange. `open`, then `next_events` until its second value is True; `close` at any time."""

    def __init__(
        self,
        shared: Shared,
        profile: Profile,
        request: StepRequest,
        record: AttemptRecord,
        deadlines: Deadlines,
    ) -> None:
        self._shared = shared
        self._profile = profile
        self._request = request
        self._record = record
        self._deadlines = deadlines
        self._exchange: Exchange | None = None
        self._response: WireResponse | None = None
        self._tap: Tap | None = None
        self._decoder: Decoder | None = None
        self._notes = AttemptNotes(record)

    async def open(self, request: HttpRequest) -> ProviderError | None:
        """Sends the request; None once a response begins, or the error that another answer means."""
        self._deadlines.opening(self._shared.clock())
        self._record.phase = "connecting"
        exchange = self._shared.transport.open(request.url, request.headers, request.body)
        self._exchange = exchange
        exchange.on_connected = self._connected
        while exchange.status is None:
            await self._wait()
        response = self._opened_response()
        response.status = exchange.status
        if 200 <= exchange.status < 300:
            self._start(exchange, response)
            return None
        return await self._refusal(exchange)

    async def next_events(self) -> tuple[list[StepEvent], bool]:
        """The events of the next read that brings any, and whether they are the last ones."""
        self._deadlines.resumed(self._shared.clock())
        exchange, decoder = self._exchange, self._decoder
        assert exchange is not None
        assert decoder is not None
        while True:
            if decoder.ending:
                self._deadlines.ending(self._shared.clock())
            try:
                await self._wait()
                events = self._digest(exchange, decoder)
            except TransportError as error:
                # Nothing was missing any more but the formal end.
                if not decoder.ending or error.timeout_scope == "run":
                    raise
                events = decoder.feed_eof()
            if events or decoder.finished:
                self._notes.handed_out(events)
                return events, decoder.finished

    async def drain(self) -> None:
        """Looks for the end of the body behind the terminal event; what else comes is dropped."""
        exchange, response = self._exchange, self._opened_response()
        if exchange is None:
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not exchange.eof:
                    await exchange.read()
                    response.bytes += sum(len(piece) for piece in exchange.take())
        except (TimeoutError, TransportError):
            pass
        response.body_eof_observed = exchange.eof

    async def close(self) -> None:
        """Closes the transport, bounded; the second call does nothing."""
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        response = self._response
        if response is not None:
            response.close_started_at = self._record.now()
            response.body_eof_observed = exchange.eof
        try:
            await exchange.close(self._shared.limits.close_seconds)
        finally:
            if response is not None:
                response.close_error_type = exchange.close_error_type
                response.closed_at = None if exchange.close_error_type else self._record.now()

    def _connected(self) -> None:
        self._deadlines.connected(self._shared.clock())
        self._record.phase = "waiting_first_event"
        self._opened_response()

    def _opened_response(self) -> WireResponse:
        if self._response is None:
            self._response = WireResponse(self._record.now())
            self._record.wire_responses.append(self._response)
        return self._response

    def _start(self, exchange: Exchange, response: WireResponse) -> None:
        default = self._shared.limits.default_argument_chars
        limits = {tool.name: tool.max_argument_chars or default for tool in self._request.tools}
        self._tap = Tap(self._shared.limits, limits, response)
        widest = self._tap.decoder_limit()
        self._decoder = make_decoder(
            self._profile.protocol,
            limits=replace(self._shared.limits, default_argument_chars=widest),
            argument_limits=dict.fromkeys(limits, widest),
            content_type=exchange.headers.get("content-type", ""),
            known_tools=tool_names(self._request.tools),
            secrets=secrets_of(self._profile),
        )

    def _opened_tap(self) -> Tap:
        assert self._tap is not None
        return self._tap

    async def _wait(self) -> None:
        """One step of the exchange, or the deadline that ended it."""
        exchange, clock = self._exchange, self._shared.clock
        assert exchange is not None
        scope, at = self._deadlines.next()
        started = clock()
        if at <= started:
            await self._expire(scope)
        try:
            async with asyncio.timeout(at - started):
                brought = await exchange.read()
        except TimeoutError:
            await self._expire(scope)
        self._notes.waited(clock() - started)
        if brought and self._response is not None:
            self._record.last_byte_at = self._record.now()

    async def _expire(self, scope: TimeoutScope) -> None:
        await self.close()
        error = TransportError(
            f"{scope}_timeout", f"the {scope.replace('_', ' ')} deadline has passed", retryable=scope != "run"
        )
        error.timeout_scope = scope
        raise error

    def _digest(self, exchange: Exchange, decoder: Decoder) -> list[StepEvent]:
        """All of one read: counted and guarded as a whole before any of it is handed on."""
        tap, response = self._opened_tap(), self._opened_response()
        events: list[StepEvent] = []
        before = response.events
        try:
            self._feed(exchange, decoder, events)
        except ProviderError as error:
            # Bytes that ran away often end in a fault as well: what ran away is told.
            tap.inspect(events + decoder.take())
            raise (tap.stop_for(error) if isinstance(error, ArgumentOverflow) else error) from None
        finally:
            tap.note_done(decoder.arguments_done)
            response.body_eof_observed = exchange.eof
        tap.inspect(events)
        if response.events > before or events:
            self._notes.event_came()
            self._deadlines.event(self._shared.clock())
        return events

    def _feed(self, exchange: Exchange, decoder: Decoder, events: list[StepEvent]) -> None:
        """The bytes of one read into the decoder, its events into `events`, in order."""
        tap, response = self._opened_tap(), self._opened_response()
        for piece in exchange.take():
            self._note_first_byte(response)
            tap.count_bytes(piece)
            if not decoder.finished:
                events += decoder.feed(piece)
        if exchange.eof and not decoder.finished:
            events += decoder.feed_eof()

    def _note_first_byte(self, response: WireResponse) -> None:
        """When the read that brought it returned; one read may bring the first byte and the last."""
        if response.first_byte_at is None:
            response.first_byte_at = self._record.last_byte_at or self._record.now()

    async def _refusal(self, exchange: Exchange) -> ProviderError:
        body = await self._error_body(exchange)
        status = exchange.status or 0
        if 300 <= status < 400:
            # Followed, it would carry the key and the conversation to another place.
            return StatusError(
                "provider_redirect",
                "the provider answered with a redirect",
                retryable=False,
                http_status=status,
            )
        now = self._shared.wall().timestamp()
        return classify_status(status, exchange.headers, body, now, secrets=secrets_of(self._profile))

    async def _error_body(self, exchange: Exchange) -> bytes:
        """What a refusal says, as far as it comes soon; a run's or request's deadline is still one."""
        body = bytearray()
        try:
            async with asyncio.timeout(ERROR_BODY_SECONDS):
                self._add_to(body, exchange)
                while not exchange.eof and len(body) < self._shared.limits.error_body_bytes:
                    await self._wait()
                    self._add_to(body, exchange)
        except (TimeoutError, TransportError) as error:
            if isinstance(error, TransportError) and error.timeout_scope is not None:
                raise
        self._opened_response().body_eof_observed = exchange.eof
        return bytes(body)

    def _add_to(self, body: bytearray, exchange: Exchange) -> None:
        response = self._opened_response()
        for piece in exchange.take():
            self._note_first_byte(response)
            response.bytes += len(piece)
            body += piece[: self._shared.limits.error_body_bytes - len(body)]
