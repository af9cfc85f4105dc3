"""What there is in this process now, looked at on its loop."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry, Gauge

from sessions_app.instance import draining
from streaming.delivery import process as delivery


def gathered(registry: CollectorRegistry) -> None:
    """Put the values into `registry`."""

    def told(name: str, description: str, value: float) -> None:
        Gauge(name, description, registry=registry).set(value)

    told("albedo_draining", "1 where this process is about to end.", draining.begun)
    told(
        "albedo_sessions_watched",
        "Sessions that streams of this process are of.",
        delivery.current().hub.watched,
    )
    told("albedo_tasks", "Tasks of the event loop.", len(asyncio.all_tasks()))
