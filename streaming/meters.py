"""What a process counts of the live half, for /metrics. Counting never fails and never waits.

Only what waits and acts counts here; what decides is pure and knows nothing of it. Labels are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

# A provider may think for minutes before it says anything.
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0)
# Profiles come and go: beyond so many names, further ones share a label.
PROVIDERS_MOST = 100
OTHER = "other"

ATTEMPTS = Counter(
    "albedo_provider_attempts",
    "Attempts at a provider that ended, by profile and outcome.",
    ["provider", "outcome"],
)
FAILURES = Counter(
    "albedo_provider_failures", "Attempts that failed, by profile and error class.", ["provider", "error"]
)
FIRST_EVENT = Histogram(
    "albedo_provider_first_event_seconds",
    "From an attempt's start to the provider's first event, by profile.",
    ["provider"],
    buckets=SECONDS,
)
ACTORS = Gauge("albedo_actors", "Session actors that live in this process.")
LEASE_LOSSES = Counter(
    "albedo_lease_losses", "Actors that stopped because their lease was lost or not renewed."
)
EVICTIONS = Counter("albedo_stream_window_evictions", "Events that left a replay window for newer ones.")
KERNELS = Gauge("albedo_kernels", "Kernels of this process: used by a session, or kept warm.", ["state"])
KERNEL_STARTS = Counter("albedo_kernel_starts", "Kernels that were started, by result.", ["result"])
KERNEL_DEATHS = Counter("albedo_kernel_deaths", "Kernels that ended without being told to.")
KERNEL_CULLS = Counter("albedo_kernel_culls", "Kernels that were ended because they rested.")
SUBSCRIBERS = Gauge(
    "albedo_stream_subscribers", "Open streams, by transport and what they are of.", ["transport", "of"]
)
CLOSES = Counter(
    "albedo_stream_closes", "Streams that ended, by transport and reason.", ["transport", "reason"]
)

for result in ("ok", "failed"):
    KERNEL_STARTS.labels(result)
for state in ("used", "warm"):
    KERNELS.labels(state)
for transport in ("websocket", "sse"):
    CLOSES.labels(transport, "too_slow")
    for of in ("session", "list"):
        SUBSCRIBERS.labels(transport, of)


class Names:
    """Names that become a label, at most so many of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def label(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(name)
        return name


providers = Names(PROVIDERS_MOST)
errors = Names(PROVIDERS_MOST)


def attempt_ended(provider: str, outcome: str, error: str | None, first_event_seconds: float | None) -> None:
    """An attempt's exchange is over; `error` is the class of one that failed."""
    name = providers.label(provider)
    ATTEMPTS.labels(name, outcome).inc()
    if outcome == "failed":
        FAILURES.labels(name, errors.label(error or OTHER)).inc()
    if first_event_seconds is not None:
        FIRST_EVENT.labels(name).observe(first_event_seconds)


class Stream:
    """One that is open; `reason` is why it ends, unless something breaks it."""

    reason = "fault"


@contextmanager
def subscribed(transport: str, of: str) -> Iterator[Stream]:
    """While a client is served."""
    stream = Stream()
    SUBSCRIBERS.labels(transport, of).inc()
    try:
        yield stream
    finally:
        SUBSCRIBERS.labels(transport, of).dec()
        CLOSES.labels(transport, stream.reason).inc()


BREAKER_STATES = {"closed": 0, "half_open": 1, "open": 2}


class Breakers(Collector):
    """How the breakers of this process stand, asked when somebody looks, on the loop that has them."""

    def __init__(self) -> None:
        self.report: Callable[[], Iterable[dict[str, Any]]] = tuple

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(
            "albedo_provider_breaker_state",
            "0 closed, 1 half open, 2 open; of endpoints that failed last.",
            labels=["base_url", "model"],
        )
        for standing in self.report():
            state = BREAKER_STATES[standing["state"]]
            family.add_metric([standing["base_url"], standing["model"]], state)
        yield family


breakers = Breakers()
REGISTRY.register(breakers)
