"""The breaker, by the readings of a clock that the test holds."""

from __future__ import annotations

from streaming.providers.breaker import MAX_KEYS, Breaker

KEY = ("http://127.0.0.1/v1", "m")


def fail(breaker: Breaker, times: int, *, now: float = 0.0) -> None:
    for _ in range(times):
        assert breaker.wait_seconds(KEY, now) == 0
        breaker.record(KEY, failed=True, now=now)


def test_it_opens_after_ten_failures_in_a_row() -> None:
    breaker = Breaker()
    fail(breaker, 9)
    assert breaker.wait_seconds(KEY, 0) == 0
    breaker.record(KEY, failed=True, now=0)
    assert breaker.wait_seconds(KEY, 1) == 29


def test_a_success_between_starts_the_count_again() -> None:
    breaker = Breaker()
    fail(breaker, 9)
    breaker.record(KEY, failed=False, now=0)
    fail(breaker, 9)
    assert breaker.wait_seconds(KEY, 0) == 0


def test_after_thirty_seconds_one_request_probes() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    assert breaker.wait_seconds(KEY, 29.9) > 0
    assert breaker.wait_seconds(KEY, 30) == 0
    assert breaker.wait_seconds(KEY, 30) > 0


def test_a_good_probe_closes_it_and_a_bad_one_opens_it_again() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    assert breaker.wait_seconds(KEY, 30) == 0
    breaker.record(KEY, failed=True, now=31)
    assert breaker.wait_seconds(KEY, 60) == 1
    assert breaker.wait_seconds(KEY, 61) == 0
    breaker.record(KEY, failed=False, now=62)
    assert breaker.wait_seconds(KEY, 62) == 0


def test_a_probe_that_was_cancelled_lets_another_try() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    assert breaker.wait_seconds(KEY, 30) == 0
    breaker.release(KEY)
    assert breaker.wait_seconds(KEY, 30) == 0


def test_models_of_one_endpoint_fail_each_for_itself() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    assert breaker.wait_seconds((KEY[0], "other"), 0) == 0


def test_it_remembers_a_bounded_number_of_endpoints() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    for number in range(MAX_KEYS):
        breaker.record((str(number), "m"), failed=False, now=0)
    assert breaker.wait_seconds(KEY, 0) == 0
