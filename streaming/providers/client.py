"""The process's way to providers: one transport, one breaker, one memory of who refuses to stream."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from uuid_utils import uuid7

from streaming.limits import WireLimits
from streaming.providers.attempt import Attempt
from streaming.providers.breaker import Breaker
from streaming.providers.record import AttemptRecord, request_constraints
from streaming.providers.redaction import bare_url
from streaming.providers.shared import Shared
from streaming.providers.streamless import StreamModes
from streaming.providers.transport import Transport
from streaming.providers.types import Profile, StepRequest


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ProviderClient:
    """One per process, made inside its event loop. `clock` is monotonic seconds, `wall` is aware UTC."""

    def __init__(
        self,
        *,
        limits: WireLimits,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = _utc_now,
        rng: random.Random | None = None,
        breaker: Breaker | None = None,
        transport: Transport | None = None,
    ) -> None:
        # Jitter is no secret.
        self.rng = rng or random.Random()  # noqa: S311
        own_breaker = Breaker(limits.breaker_failures, limits.breaker_open_seconds)
        self._shared = Shared(
            limits, clock, wall, breaker or own_breaker, StreamModes(), transport or Transport()
        )

    async def aclose(self) -> None:
        """Closes every connection, in a bounded time."""
        await self._shared.transport.aclose(self._shared.limits.close_seconds)

    def attempt(
        self,
        profile: Profile,
        request: StepRequest,
        *,
        run_id: str,
        step: int,
        attempt: int,
        run_deadline: float | None,
    ) -> Attempt:
        """An attempt that has sent nothing yet. `run_deadline` is a reading of `clock`."""
        now = self._steady_now()
        record = AttemptRecord(
            id=str(uuid7()),
            run_id=run_id,
            step=step,
            attempt=attempt,
            provider=profile.name,
            model=profile.model,
            protocol=profile.protocol,
            now=now,
            started_at=now(),
            request_constraints=request_constraints(profile, request.tools),
        )
        return Attempt(self._shared, profile, request, record, run_deadline)

    def report(self) -> dict[str, Any]:
        """For the operator, ready for JSON: `breakers` with a failure, and whom no stream is asked of."""
        standings = self._shared.breaker.report(self._shared.clock())
        return {
            "breakers": [
                {
                    **_endpoint(*standing.key),
                    "state": standing.state,
                    "failures": standing.failures,
                    "wait_seconds": round(standing.wait_seconds, 1),
                }
                for standing in standings
            ],
            "streamless": [_endpoint(*key) for key in self._shared.modes.streamless()],
        }

    def _steady_now(self) -> Callable[[], datetime]:
        """Wall time that never runs backwards within one attempt, whatever is done to the machine's clock."""
        wall, clock = self._shared.wall(), self._shared.clock
        start = clock()
        return lambda: wall + timedelta(seconds=clock() - start)


def _endpoint(base_url: str, model: str) -> dict[str, str]:
    return {"base_url": bare_url(base_url), "model": model}
