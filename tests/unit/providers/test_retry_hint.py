"""How long to wait, in every way in which it is said."""

from __future__ import annotations

import pytest

from streaming.providers.retry_hint import duration_seconds, retry_after_seconds

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("try again in 1.2s", 1.2),
        ("Please try again in 350ms.", 0.35),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("Please try again in 6m0s.", 360.0),
        ("try again in 1h2m3s", 3_723.0),
        ("retry after 20 seconds", 20.0),
        ("Please wait for 2 minutes", 120.0),
        ("try again in 1 minute 30 seconds", 90.0),
        ("limit resets in 5 mins", 300.0),
        ("TRY AGAIN IN 2 S", 2.0),
        ("try again later", None),
        ("it took 5 seconds", None),
        ("retry with 3 messages", None),
        ("", None),
    ],
)
def test_words(message: str, expected: float | None) -> None:
    found = retry_after_seconds({}, message, NOW)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", 0.0),
        ("2", 2.0),
        ("1.5", 1.5),
        ("1e9", 1e9),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("soon", None),
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10.0),
        ("Tue, 14 Nov 2023 22:13:10 GMT", 0.0),
        ("Tue, 99 Nov 2023 22:13:10 GMT", None),
        ("9" * 5_000, None),
    ],
)
def test_header(value: str, expected: float | None) -> None:
    assert retry_after_seconds({"Retry-After": value}, "", NOW) == expected


def test_milliseconds_win_over_seconds_and_headers_over_words() -> None:
    headers = {"retry-after-ms": "250", "Retry-After": "9"}
    assert retry_after_seconds(headers, "try again in 1s", NOW) == 0.25


def test_long_prose_is_searched_in_linear_time() -> None:
    assert retry_after_seconds({}, "retry in " * 100_000 + "1" * 100_000, NOW) is None


@pytest.mark.parametrize(("value", "expected"), [("34.5s", 34.5), ("5m", None), (3, None), (None, None)])
def test_duration(value: object, expected: float | None) -> None:
    assert duration_seconds(value) == expected
