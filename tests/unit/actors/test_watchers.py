from __future__ import annotations

from streaming.actors.watchers import Watchers


def test_counts_of_all_hubs_add_up_and_the_newest_of_each_counts() -> None:
    watchers = Watchers(beat_seconds=2.0)
    watchers.count("one", 3, 0.0)
    watchers.count("two", 4, 0.0)
    watchers.count("one", 1, 1.0)
    assert watchers.total(1.0) == 5


def test_a_hub_that_says_zero_is_gone_at_once() -> None:
    watchers = Watchers(beat_seconds=2.0)
    watchers.count("one", 3, 0.0)
    watchers.count("one", 0, 0.5)
    assert watchers.total(0.5) == 0


def test_a_silent_hub_is_forgotten_after_three_beats() -> None:
    watchers = Watchers(beat_seconds=2.0)
    watchers.count("dead", 7, 0.0)
    assert watchers.total(6.0) == 7
    assert watchers.total(6.1) == 0
