"""What a transaction takes follows the time that the last one took."""

from __future__ import annotations

from sessions_app.store.pace import Pace


def test_it_doubles_up_to_the_most_and_halves_down_to_one() -> None:
    pace = Pace(16, 500)
    pace.took(0.0)
    assert pace.size == 32
    for _ in range(20):
        pace.took(0.0)
    assert pace.size == 500
    pace.took(0.06)
    assert (pace.size, pace.took_seconds) == (500, 0.06)
    pace.took(1.0)
    assert pace.size == 250
    for _ in range(20):
        pace.took(1.0)
    assert pace.size == 1
