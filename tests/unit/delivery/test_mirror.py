from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.delivery.mirror import Mirror, Next
from streaming.feed.batch import Batch, hello


def batch(first: int, last: int, generation: str = "1-a", size: int = 1) -> Batch:
    return Batch(generation, first, last, f"{first}-{last}".ljust(size))


def filled(*batches: Batch, max_batches: int = 100, max_bytes: int = 10**6) -> Mirror:
    mirror = Mirror(max_batches, max_bytes)
    for received in batches:
        mirror.add(received)
    return mirror


def test_a_position_gets_the_batch_that_begins_right_behind_it() -> None:
    one, two = batch(1, 3), batch(4, 4)
    mirror = filled(one, two)
    assert mirror.next("1-a", 0) is one
    assert mirror.next("1-a", 3) is two
    assert mirror.next("1-a", 4) is Next.NOTHING
    assert mirror.next("1-a", 2) is Next.BEHIND


def test_a_gap_puts_everyone_before_it_behind() -> None:
    late = batch(5, 6)
    mirror = filled(batch(1, 3), late)
    assert mirror.next("1-a", 3) is Next.BEHIND
    assert mirror.next("1-a", 4) is late
    assert len(mirror) == 1


def test_repeated_and_late_batches_change_nothing() -> None:
    one, two = batch(1, 2), batch(3, 4)
    mirror = filled(one, two, one, two)
    assert len(mirror) == 2
    assert mirror.next("1-a", 2) is two


def test_a_new_generation_ends_the_old_one_and_an_old_one_never_comes_back() -> None:
    mirror = filled(batch(1, 9), hello("2-b"))
    assert mirror.next("1-a", 9) is Next.BEHIND
    assert mirror.next("2-b", 0) is Next.NOTHING
    assert mirror.add(batch(10, 10)) is False
    assert mirror.generation == "2-b"


def test_generations_are_ordered_as_numbers() -> None:
    mirror = filled(hello("10-a"))
    assert mirror.add(batch(1, 1, "9-z")) is False
    assert mirror.next("11-c", 5) is Next.NOTHING


def test_what_an_actor_says_shows_a_lost_batch() -> None:
    mirror = filled(batch(1, 2))
    assert mirror.lags("1-a", 3)
    assert mirror.learn("1-a", 3) is True
    assert mirror.next("1-a", 2) is Next.BEHIND
    assert mirror.learn("1-a", 3) is False
    assert not mirror.lags("1-a", 3)


def test_an_old_answer_is_no_news() -> None:
    mirror = filled(batch(1, 2, "2-b"))
    assert not mirror.lags("1-a", 99)
    assert mirror.learn("1-a", 99) is False
    assert not mirror.lags("2-b", 1)


def test_both_bounds_hold_and_the_evicted_are_paged() -> None:
    mirror = filled(*(batch(n, n) for n in range(1, 11)), max_batches=3)
    assert len(mirror) == 3
    assert mirror.next("1-a", 0) is Next.BEHIND
    large = filled(*(batch(n, n, size=1_000) for n in range(1, 11)), max_bytes=4_000)
    assert 0 < large.size_bytes <= 4_000


def test_a_batch_larger_than_the_mirror_is_paged() -> None:
    mirror = filled(batch(1, 1, size=5_000), max_bytes=1_000)
    assert (len(mirror), mirror.size_bytes) == (0, 0)
    assert mirror.next("1-a", 0) is Next.BEHIND


@settings(max_examples=80)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=15),
    st.lists(st.integers(0, 14), max_size=40),
    st.integers(1, 6),
)
def test_whatever_is_lost_repeated_or_late_no_position_is_told_a_wrong_next(
    sizes: list[int], arrivals: list[int], max_batches: int
) -> None:
    log, first = [], 1
    for size in sizes:
        log.append(batch(first, first + size - 1))
        first += size
    mirror = Mirror(max_batches, 10**6)
    for index in arrivals:
        mirror.add(log[index % len(log)])
        for position in range(first):
            found = mirror.next("1-a", position)
            if isinstance(found, Batch):
                assert found.first == position + 1
            elif mirror.generation is not None:
                assert (found is Next.NOTHING) == (position >= mirror.newest)
    assert len(mirror) <= max_batches
