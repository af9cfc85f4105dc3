"""The breaker, by the readings of a clock that the test holds."""

from __future__ import annotations

from streaming.providers.breaker import MAX_KEYS, MAX_REPORTED, Breaker, Standing

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


def test_a_report_tells_how_each_endpoint_in_trouble_stands() -> None:
    breaker = Breaker()
    breaker.record(("http://well/v1", "m"), failed=False, now=0)
    fail(breaker, 10)
    breaker.record(("http://unsure/v1", "m"), failed=True, now=0)
    assert breaker.report(12) == [
        Standing(KEY, "open", 10, 18.0),
        Standing(("http://unsure/v1", "m"), "closed", 1, 0.0),
    ]


def test_a_report_tells_of_a_probe_that_is_due_or_under_way_and_starts_none() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    assert breaker.report(30) == [Standing(KEY, "half_open", 10, 0.0)]
    assert breaker.wait_seconds(KEY, 30) == 0
    assert breaker.report(30) == [Standing(KEY, "half_open", 10, 0.0)]
    breaker.record(KEY, failed=False, now=31)
    assert breaker.report(31) == []


def test_a_report_is_bounded_and_leaves_out_no_open_breaker_for_a_closed_one() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    for number in range(MAX_REPORTED):
        breaker.record((str(number), "m"), failed=True, now=0)
    report = breaker.report(0)
    assert len(report) == MAX_REPORTED
    assert report[0].key == KEY
    assert report[1].key == (str(MAX_REPORTED - 1), "m")


def test_a_report_keeps_no_endpoint_from_being_forgotten() -> None:
    breaker = Breaker()
    fail(breaker, 10)
    for number in range(MAX_KEYS - 1):
        breaker.record((str(number), "m"), failed=False, now=0)
    assert breaker.report(0)[0].key == KEY
    breaker.record(("one more", "m"), failed=False, now=0)
    assert breaker.report(0) == []
