"""Ages and sizes as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions_app.quantities import parse_age, parse_size, show_size


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("90d", timedelta(days=90)),
        (" 2w ", timedelta(weeks=2)),
        ("12 h", timedelta(hours=12)),
        ("0m", timedelta(0)),
    ],
)
def test_an_age_has_a_unit(text: str, age: timedelta) -> None:
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1.5d", "1y", "९d", "1d2h", "9999999d"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as in 90d"):
        parse_age(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20GB", 20_000_000_000),
        ("20gb", 20_000_000_000),
        ("1.5 MB", 1_500_000),
        ("1GiB", 2**30),
        ("3k", 3_000),
        ("512", 512),
        ("0B", 0),
    ],
)
def test_a_size_counts_by_its_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1EB", "1 i B", "1ib", "1e9", "٣GB", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as in 20GB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 KB"),
        (1_500_000, "1.5 MB"),
        (999_960, "1.0 MB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_a_size_is_shown_in_few_figures(size: int, shown: str) -> None:
    assert show_size(size) == shown
