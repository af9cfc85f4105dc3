"""An attempt's page: the record as a timeline and tables."""

from __future__ import annotations

from django.test import Client

from sessions_app.admin.timeline import timeline
from tests.integration.admin.conftest import World
from tests.integration.admin.records import RECORD
from tests.integration.admin.test_looking import page_url


def test_the_timeline_has_every_moment_in_order_with_both_durations() -> None:
    moments = [(moment.label, moment.since_start_ms, moment.since_previous_ms) for moment in timeline(RECORD)]
    assert moments == [
        ("started", 0.0, 0.0),
        ("connected", 100.0, 100.0),
        ("first byte", 250.0, 150.0),
        ("first event", 300.0, 50.0),
        ("first text", 350.0, 50.0),
        ("first argument", 500.0, 150.0),
        ("last byte", 2000.0, 1500.0),
        ("close started", 2000.0, 0.0),
        ("closed", 2100.0, 100.0),
        ("ended", 2200.0, 100.0),
    ]


def test_moments_of_several_responses_say_whose_they_are() -> None:
    twice = RECORD | {"wire_responses": RECORD["wire_responses"] * 2}
    labels = [moment.label for moment in timeline(twice)]
    assert labels.count("connected (response 1)") == labels.count("connected (response 2)") == 1


def test_what_is_absent_or_odd_is_left_out() -> None:
    odd = {"started_at": "2026-13-45T00:00:00Z", "ended_at": "2026-01-02T03:04:05", "wire_responses": None}
    assert timeline(odd) == []
    assert timeline({}) == []
    stopped = RECORD | {"cancel_observed_at": "2026-01-02T03:04:06.000000Z"}
    assert [moment.label for moment in timeline(stopped)].index("stop observed") == 6


def test_the_page_shows_timeline_wire_and_tools(looking: Client, world: World) -> None:
    text = looking.get(page_url(world.attempt)).content.decode()
    for shown in (
        "first argument",
        "2200.0 ms",
        "4321",
        "argument characters",
        "omitted",
        "longest_gap_ms",
        "reported",
    ):
        assert shown in text


def test_a_record_that_holds_next_to_nothing_is_shown_too(looking: Client, world: World) -> None:
    world.attempt.record = {}
    world.attempt.save(update_fields=["record"])
    text = looking.get(page_url(world.attempt)).content.decode()
    assert "No response came." in text
    assert "No moments." in text
