"""Which deadline is next, by readings of a clock that the test holds."""

from __future__ import annotations

from streaming.providers.deadlines import ENDING_SECONDS, Deadlines
from streaming.providers.types import Profile

PROFILE = Profile(
    "p",
    "u",
    "responses",
    "m",
    connect_timeout=10,
    first_event_timeout=100,
    idle_timeout=50,
    request_timeout=600,
)


def test_connecting_then_the_first_event_then_silence() -> None:
    deadlines = Deadlines(PROFILE, 0.0, None)
    assert deadlines.next() == ("connect", 10)
    deadlines.connected(4.0)
    assert deadlines.next() == ("first_event", 104)
    deadlines.event(20.0)
    assert deadlines.next() == ("idle", 70)


def test_the_request_ends_whatever_comes() -> None:
    deadlines = Deadlines(PROFILE, 0.0, None)
    deadlines.event(590.0)
    assert deadlines.next() == ("request", 600)


def test_the_run_ends_its_request_and_wins_a_tie() -> None:
    deadlines = Deadlines(PROFILE, 0.0, 600.0)
    deadlines.event(590.0)
    assert deadlines.next() == ("run", 600)


def test_the_time_of_the_consumer_is_no_silence() -> None:
    deadlines = Deadlines(PROFILE, 0.0, None)
    deadlines.event(20.0)
    deadlines.resumed(200.0)
    assert deadlines.next() == ("idle", 250)


def test_the_time_of_the_consumer_does_not_put_off_a_first_event() -> None:
    deadlines = Deadlines(PROFILE, 0.0, None)
    deadlines.connected(0.0)
    deadlines.resumed(90.0)
    assert deadlines.next() == ("first_event", 100)


def test_a_formal_end_is_waited_for_a_short_time_once() -> None:
    deadlines = Deadlines(PROFILE, 0.0, None)
    deadlines.event(20.0)
    deadlines.ending(21.0)
    deadlines.ending(24.0)
    assert deadlines.next() == ("idle", 21.0 + ENDING_SECONDS)


def test_a_second_exchange_connects_anew_within_the_same_request() -> None:
    deadlines = Deadlines(PROFILE, 0.0, None)
    deadlines.event(20.0)
    deadlines.opening(595.0)
    assert deadlines.next() == ("request", 600)
