"""Reads /metrics as Prometheus does."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.support.processes import wait_for

Series = tuple[str, frozenset[tuple[str, str]]]


class Scraper:
    """One process, with a metrics token."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False, verify=False)

    def __call__(self) -> dict[Series, float]:
        answer = self._client.get("/metrics")
        assert answer.status_code == 200, answer.text
        families = text_string_to_metric_families(answer.text)
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """0 for a series that nothing has moved yet."""
        return self().get((name, frozenset(labels.items())), 0.0)

    def until(self, fact: Callable[[], bool], what: str) -> None:
        wait_for(fact, what, 60)

    def close(self) -> None:
        self._client.close()


def moved(before: dict[Series, float], after: dict[Series, float], prefix: str) -> dict[str, float]:
    """How far each series of a prefix moved, by the rest of its name and its label values."""
    names = {series for series in (*before, *after) if series[0].startswith(prefix)}
    found = {}
    for name, labels in names:
        by = after.get((name, labels), 0.0) - before.get((name, labels), 0.0)
        if by:
            found[" ".join([name.removeprefix(prefix), *(value for _, value in sorted(labels))])] = by
    return found
