"""The table of numbers."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from albedo_project.env import Env
from albedo_project.tunables import TUNABLES, VARIABLE_NAMES, read_tunables
from streaming.limits import Limits


def read(**source: str) -> dict[str, int | float]:
    return read_tunables(Env(source, VARIABLE_NAMES))


def test_without_variables_the_live_half_has_the_numbers_of_its_own_table() -> None:
    values, limits = read(), Limits()
    assert values["feed_window_bytes"] == limits.feed.window_bytes
    assert values["delivery_send_seconds"] == limits.delivery.send_seconds
    assert set(values) == {row.name for row in TUNABLES}


def test_a_variable_replaces_its_number_and_keeps_the_type() -> None:
    values = read(ALBEDO_QUEUE_LIMIT="3", ALBEDO_DELIVERY_SEND_SECONDS="2")
    assert (values["queue_limit"], values["delivery_send_seconds"]) == (3, 2.0)
    assert isinstance(values["delivery_send_seconds"], float)


@pytest.mark.parametrize(("name", "value"), [("ALBEDO_QUEUE_LIMIT", "0"), ("ALBEDO_QUEUE_LIMIT", "2.5")])
def test_a_number_that_would_break_its_user_is_refused(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        read(**{name: value})


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("body_bytes", "bytes"),
        ("idle_timeout", "seconds"),
        ("max_retries", "count"),
        ("wire_text_chars", "chars"),
    ],
)
def test_the_unit_follows_from_the_name(name: str, unit: str) -> None:
    assert {row.name: row.unit for row in TUNABLES}[name] == unit
