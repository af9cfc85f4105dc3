"""What stands in the database, the same whoever is asked: read at each scrape, by narrow indexes alone.

A database that does not answer must not keep its own alarm away: then these are missing, and that is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from django.db.models import Min
from django.utils import timezone
from prometheus_client import CollectorRegistry, Gauge

from sessions_app.models import Input, Run, Session
from sessions_app.store import hosts
from sessions_app.store.executor import read

# Prometheus gives up after ten seconds.
PATIENCE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    description: str
    value: Callable[[], float]


def _oldest_pending_seconds() -> float:
    oldest = Input.objects.filter(state=Input.State.PENDING).aggregate(at=Min("created_at"))["at"]
    return max((timezone.now() - oldest).total_seconds(), 0.0) if oldest else 0.0


# Each is a scan of a partial or narrow index: a scrape costs the same however long history is.
FACTS = (
    Fact(
        "albedo_inputs_pending",
        "Accepted inputs that no run has taken up yet.",
        lambda: Input.objects.filter(state=Input.State.PENDING).count(),
    ),
    Fact(
        "albedo_inputs_oldest_pending_seconds",
        "How long the first of them has waited; 0 where none waits.",
        _oldest_pending_seconds,
    ),
    Fact(
        "albedo_runs_unfinished",
        "Runs that have not ended.",
        lambda: Run.objects.filter(state=Run.State.RUNNING).count(),
    ),
    Fact(
        "albedo_leases_live",
        "Sessions that an actor holds.",
        lambda: Session.objects.filter(lease_until__gt=timezone.now()).count(),
    ),
    Fact(
        "albedo_removals_unfinished",
        "Deleted sessions of which something is left to remove.",
        lambda: Session.every.filter(deleted_at__isnull=False).count(),
    ),
    Fact(
        "albedo_hosts_alive", "Actor hosts that said lately that they live; not that of SQLite.", hosts.living
    ),
)


def counts() -> dict[str, float]:
    """The present value of each of `FACTS`."""
    return {fact.name: fact.value() for fact in FACTS}


class Reader:
    """Reads them once for all who ask at a time. Belongs to one event loop."""

    def __init__(self) -> None:
        self._task: asyncio.Task[dict[str, float]] | None = None

    async def values(self) -> dict[str, float] | None:
        """None where the database does not answer in time. Such a question is left to end by itself."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(read(counts))
        task = self._task
        await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        if not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()


_readers: WeakKeyDictionary[asyncio.AbstractEventLoop, Reader] = WeakKeyDictionary()


async def gathered(registry: CollectorRegistry) -> None:
    """Put the values into `registry`, and whether there were any."""
    values = await _readers.setdefault(asyncio.get_running_loop(), Reader()).values()
    answers = Gauge(
        "albedo_database_answers", "1 where the database told its gauges in time.", registry=registry
    )
    answers.set(values is not None)
    for fact in FACTS if values is not None else ():
        Gauge(fact.name, fact.description, registry=registry).set((values or {})[fact.name])
