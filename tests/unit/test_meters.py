"""Labels are bounded, and what is open is counted for as long as it is."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY

from streaming import meters


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_names_beyond_the_most_share_a_label() -> None:
    names = meters.Names(2)
    assert [names.label(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", "other", "a", "other"]


def test_an_attempt_counts_by_its_outcome_and_a_failure_by_its_class() -> None:
    before = value("albedo_provider_attempts_total", provider="p", outcome="failed")
    meters.attempt_ended("p", "failed", "rate_limited", None)
    meters.attempt_ended("p", "completed", None, 0.3)
    assert value("albedo_provider_attempts_total", provider="p", outcome="failed") == before + 1
    assert value("albedo_provider_failures_total", provider="p", error="rate_limited") == 1
    assert value("albedo_provider_first_event_seconds_count", provider="p") == 1
    assert value("albedo_provider_first_event_seconds_bucket", provider="p", le="0.25") == 0
    assert value("albedo_provider_first_event_seconds_bucket", provider="p", le="0.5") == 1


def test_a_stream_is_open_until_it_ends_and_ends_for_a_reason() -> None:
    def there() -> float:
        return value("albedo_stream_subscribers", transport="sse", of="list")

    before = there()
    slow = value("albedo_stream_closes_total", transport="sse", reason="too_slow")
    with meters.subscribed("sse", "list") as stream:
        assert there() == before + 1
        stream.reason = "too_slow"
    assert there() == before
    assert value("albedo_stream_closes_total", transport="sse", reason="too_slow") == slow + 1
    broken = value("albedo_stream_closes_total", transport="sse", reason="fault")
    with pytest.raises(OSError, match="broke"), meters.subscribed("sse", "list"):
        raise OSError("broke")
    assert there() == before
    assert value("albedo_stream_closes_total", transport="sse", reason="fault") == broken + 1


def test_breakers_are_asked_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    standing: list[dict[str, Any]] = [
        {"base_url": "http://a", "model": "m", "state": state, "failures": 1, "wait_seconds": 0}
        for state in ("open",)
    ]
    monkeypatch.setattr(meters.breakers, "report", lambda: standing)
    assert value("albedo_provider_breaker_state", base_url="http://a", model="m") == 2
    standing[0]["state"] = "half_open"
    assert value("albedo_provider_breaker_state", base_url="http://a", model="m") == 1
    standing.clear()
    assert (
        REGISTRY.get_sample_value("albedo_provider_breaker_state", {"base_url": "http://a", "model": "m"})
        is None
    )
