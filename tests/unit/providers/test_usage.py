"""Counts from every dialect; the unknown stays unknown."""

from __future__ import annotations

import pytest

from streaming.providers.types import Usage
from streaming.providers.usage import merge_usage, read_usage


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7}, Usage(5, 7, source="reported")),
        ({"input_tokens": 5, "output_tokens": 7}, Usage(5, 7, source="reported")),
        ({"input_tokens_details": {"cached_tokens": 4}}, Usage(cached_tokens=4, source="reported")),
        ({"prompt_cache_hit_tokens": 4}, Usage(cached_tokens=4, source="reported")),
        ({"output_tokens_details": {"reasoning_tokens": 3}}, Usage(reasoning_tokens=3, source="reported")),
        ({"prompt_tokens": 5.0, "cost": 1}, Usage(5, cost=1.0, source="reported")),
        ({"prompt_tokens": 0}, Usage(0, source="reported")),
    ],
)
def test_counts_are_read(value: object, expected: Usage) -> None:
    assert read_usage(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        [],
        "x",
        {"prompt_tokens": None},
        {"prompt_tokens": "5"},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
        {"prompt_tokens": 1.5},
        {"prompt_tokens": float("inf")},
        {"prompt_tokens": 1 << 64},
        {"prompt_tokens_details": None, "cost": float("nan")},
    ],
)
def test_what_is_no_count_stays_unknown(value: object) -> None:
    assert read_usage(value) is None


def test_a_later_report_wins_where_it_says_anything() -> None:
    first, second = Usage(5, 1, 2, source="reported"), Usage(output_tokens=7, cost=0.0, source="reported")
    assert merge_usage(first, second) == Usage(5, 7, 2, None, 0.0, "reported")
