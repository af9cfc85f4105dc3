"""One attempt at a step: it owns the transport, the deadlines and the record, and closes before it reports.

It decides nothing about retries and stores nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from streaming.providers.attempt_wire import AttemptWire
from streaming.providers.deadlines import Deadlines
from streaming.providers.errors import ProviderError, TransportError
from streaming.providers.events import StepEvent
from streaming.providers.record import AttemptRecord, CancelReason
from streaming.providers.redaction import safe_detail
from streaming.providers.requests import build, secrets_of
from streaming.providers.shared import Shared
from streaming.providers.tap import GuardStop
from streaming.providers.types import Profile, StepRequest


class Attempt(AbstractAsyncContextManager["Attempt"]):
    """`async with client.attempt(...) as attempt: async for events in attempt.events(): ...`

    `record` is live from the start. However the block is left, the transport is closed first, in at
    most `WireLimits.close_seconds`, and only then the record says its outcome.
    """

    def __init__(
        self,
        shared: Shared,
        profile: Profile,
        request: StepRequest,
        record: AttemptRecord,
        run_deadline: float | None,
    ) -> None:
        self.record = record
        self._shared = shared
        self._profile = profile
        self._request = request
        self._deadlines = Deadlines(profile, shared.clock(), run_deadline)
        self._wire: AttemptWire | None = None
        self._generator: AsyncGenerator[list[StepEvent], None] | None = None
        self._admitted = False

    def cancel(self, reason: CancelReason) -> None:
        """Notes that a stop was seen, and why, before the reading task is cancelled. Closes nothing yet."""
        self.record.observe_cancel(reason)

    def events(self) -> AsyncIterator[list[StepEvent]]:
        """A list for each read of the wire that brought events; the last one ends in `Completed`.

        The wire is not read again before the next list is asked for. Raises ProviderError, with the
        transport closed and the record settled. To be called once.
        """
        assert self._generator is None, "an attempt is read once"
        self._generator = self._events()
        return self._generator

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._close()
        finally:
            self._settle(error)
        if self._generator is not None:
            await self._generator.aclose()

    async def _events(self) -> AsyncGenerator[list[StepEvent], None]:
        try:
            self._admit()
            wire = await self._open()
            while True:
                events, last = await wire.next_events()
                if last:
                    await self._complete()
                yield events
                if last:
                    return
        except ProviderError as error:
            await self._fail(error)
            raise

    def _admit(self) -> None:
        wait = self._shared.breaker.wait_seconds(self._key, self._shared.clock())
        if wait > 0:
            raise TransportError(
                "provider_unavailable",
                "the provider failed repeatedly and is left alone for a while",
                retryable=True,
                retry_after=wait,
            )
        self._admitted = True

    @property
    def _key(self) -> tuple[str, str]:
        return self._profile.base_url, self._profile.model

    async def _open(self) -> AttemptWire:
        """An exchange whose answer is a response. One that refuses to stream is asked again without."""
        while True:
            mode = self._shared.modes.of(*self._key)
            self._wire = AttemptWire(self._shared, self._profile, self._request, self.record, self._deadlines)
            refusal = await self._wire.open(build(self._request, self._profile, mode))
            if refusal is None:
                return self._wire
            await self._close()
            if not self._shared.modes.learn(*self._key, refusal):
                raise refusal

    async def _close(self) -> None:
        if self._wire is not None:
            await self._wire.close()

    async def _complete(self) -> None:
        self.record.phase = "completing"
        assert self._wire is not None
        await self._wire.drain()
        await self._close()
        self.record.complete()
        self._tell_breaker(failed=False)

    async def _fail(self, error: ProviderError) -> None:
        await self._close()
        self._clean(error)
        if isinstance(error, GuardStop):
            self.record.stream_guard = error.guard
        scope = error.timeout_scope if isinstance(error, TransportError) else None
        if scope == "run":
            self.record.observe_cancel(None, scope="run")
        if self.record.cancel_observed_at is not None:
            self._release_breaker()
        # A guard's stop and an answer that is final both show an endpoint that works.
        self._tell_breaker(failed=error.retryable and not isinstance(error, GuardStop))
        self._note_failure(error)

    def _clean(self, error: ProviderError) -> None:
        """An error event in a stream may quote the key: out of the detail, and so out of logs and reprs."""
        error.detail = safe_detail(error.detail, secrets_of(self._profile))
        error.args = (f"{error.code}: {error.detail}" if error.detail else error.code,)

    def _note_failure(self, error: ProviderError) -> None:
        if self.record.settled:
            return
        self.record.error_class = error.code
        self.record.http_status = error.http_status or self._last_status()
        if self.record.cancel_observed_at is not None:
            self.record.cancelled()
        else:
            scope = error.timeout_scope if isinstance(error, TransportError) else None
            self.record.fail(scope)

    def _last_status(self) -> int | None:
        return self.record.wire_responses[-1].status if self.record.wire_responses else None

    def _settle(self, error: BaseException | None) -> None:
        """What is still open when the block is left was stopped, or the consumer failed."""
        self._release_breaker()
        if self.record.settled:
            return
        ours = isinstance(error, Exception) and not isinstance(error, asyncio.CancelledError)
        if ours and self.record.cancel_observed_at is None:
            self.record.error_class = type(error).__name__
            self.record.fail(None)
            return
        # Nobody said why: the event loop itself is going down.
        self.record.observe_cancel("shutdown" if error is not None else "superseded")
        self.record.cancelled()

    def _tell_breaker(self, *, failed: bool) -> None:
        if self._admitted:
            self._admitted = False
            self._shared.breaker.record(self._key, failed=failed, now=self._shared.clock())

    def _release_breaker(self) -> None:
        if self._admitted:
            self._admitted = False
            self._shared.breaker.release(self._key)
