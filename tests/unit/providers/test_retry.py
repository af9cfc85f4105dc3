"""Retry decisions are pure: the error, the attempt's number and a random source in, a wait or an end out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.errors import ProviderError
from streaming.providers.retry import GiveUp, Retry, backoff_seconds, decide
from streaming.providers.types import Profile

PROFILE = Profile("p", "http://127.0.0.1/v1", "responses", "m", max_retries=4)


def error(*, retryable: bool = True, retry_after: float | None = None) -> ProviderError:
    return ProviderError("overloaded", "busy", retryable=retryable, retry_after=retry_after)


def delay(attempt: int, *, retry_after: float | None = None, seed: int = 0) -> float:
    decision = decide(
        error(retry_after=retry_after), attempt=attempt, profile=PROFILE, rng=random.Random(seed)
    )
    assert isinstance(decision, Retry)
    return decision.delay_seconds


@pytest.mark.parametrize(("attempt", "plain"), [(1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (5_000, 30.0)])
def test_backoff_doubles_up_to_thirty_seconds_within_a_quarter(attempt: int, plain: float) -> None:
    waits = [backoff_seconds(attempt, random.Random(seed)) for seed in range(200)]
    assert plain * 0.75 <= min(waits) < plain * 0.85
    assert plain * 1.15 < max(waits) <= plain * 1.25


@settings(max_examples=50)
@given(st.integers(1, 4), st.integers())
def test_one_seed_gives_one_wait(attempt: int, seed: int) -> None:
    assert delay(attempt, seed=seed) == delay(attempt, seed=seed)


def test_sessions_that_failed_together_do_not_come_back_together() -> None:
    assert len({delay(1, seed=seed) for seed in range(100)}) > 90
    assert len({delay(1, retry_after=20, seed=seed) for seed in range(100)}) > 90


@pytest.mark.parametrize("asked", [0.3, 1.2, 2.0, 60.0])
def test_it_waits_at_least_as_long_as_asked(asked: float) -> None:
    assert all(asked <= delay(1, retry_after=asked, seed=seed) <= asked * 1.1 for seed in range(100))


def test_a_server_that_asks_for_years_gets_two_minutes() -> None:
    assert delay(1, retry_after=1e9) == 120.0


@pytest.mark.parametrize("asked", [0.0, -5.0])
def test_a_server_that_asks_for_no_wait_gets_the_backoff(asked: float) -> None:
    assert 0.375 <= delay(1, retry_after=asked) <= 0.625


def test_a_final_error_is_not_retried() -> None:
    final = error(retryable=False, retry_after=1.0)
    decision = decide(final, attempt=1, profile=PROFILE, rng=random.Random(0))
    assert decision == GiveUp("overloaded", exhausted=False)


def test_retries_end_when_the_profile_has_no_more() -> None:
    assert isinstance(decide(error(), attempt=4, profile=PROFILE, rng=random.Random(0)), Retry)
    last = decide(error(), attempt=5, profile=PROFILE, rng=random.Random(0))
    assert last == GiveUp("overloaded", exhausted=True)


def test_a_retry_names_its_cause() -> None:
    decision = decide(error(), attempt=1, profile=PROFILE, rng=random.Random(0))
    assert isinstance(decision, Retry)
    assert decision.cause == "overloaded"
