"""Whether a failed attempt is tried again, and after how long. Pure: the random source is passed in.

The one reader of `ProviderError.retryable` and `.retry_after`. It never waits itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from streaming.providers.errors import ProviderError
from streaming.providers.types import Profile

BASE_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 30.0
JITTER = 0.25
# A server may ask for hours; a person waits for the run, so the retry comes sooner and may fail again.
MAX_RETRY_AFTER_SECONDS = 120.0
# Enough to pull apart sessions that were all told the same second; never below what was asked.
RETRY_AFTER_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay_seconds`; `cause` is the stable code of what failed."""

    delay_seconds: float
    cause: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further attempt on this profile; `exhausted` tells spent retries from a final error."""

    cause: str
    exhausted: bool


def decide(
    error: ProviderError,
    *,
    attempt: int,
    profile: Profile,
    rng: random.Random,
    max_retry_after_seconds: float = MAX_RETRY_AFTER_SECONDS,
) -> Retry | GiveUp:
    """What follows the failure of `attempt` (counted from 1; `max_retries` further ones are allowed)."""
    if not error.retryable:
        return GiveUp(error.code, exhausted=False)
    if attempt > profile.max_retries:
        return GiveUp(error.code, exhausted=True)
    if error.retry_after is not None and error.retry_after > 0:
        return Retry(_as_asked(error.retry_after, rng, max_retry_after_seconds), error.code)
    return Retry(backoff_seconds(attempt, rng), error.code)


def backoff_seconds(attempt: int, rng: random.Random) -> float:
    """0.5 s doubled per attempt, at most 30 s, spread by a quarter to both sides."""
    # Beyond 2**10 the ceiling holds anyway, and a huge exponent would overflow.
    plain = min(MAX_BACKOFF_SECONDS, BASE_SECONDS * 2.0 ** min(attempt - 1, 10))
    return plain * rng.uniform(1 - JITTER, 1 + JITTER)


def _as_asked(retry_after: float, rng: random.Random, ceiling: float) -> float:
    return min(ceiling, retry_after * rng.uniform(1, 1 + RETRY_AFTER_SPREAD))
