"""What it costs to attach: when a process ends, all its readers come back to another one at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.delivery.conftest import Served
from tests.support.processes import wait_for
from tests.support.raw_reader import TRANSPORTS, Cursor, RawReader, Transport

# Whose token it is, the session, where its actor is: and whether it rests, or the snapshot with its history.
WITH_CURSOR = 4
WITHOUT = 5


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Asks the database for nothing by itself, however long a test takes."""
    running = Served(
        tmp_path_factory.mktemp("quiet"),
        ALBEDO_DELIVERY_HEAL_SECONDS="3600",
        ALBEDO_DELIVERY_KEEPALIVE_SECONDS="3600",
        SERVED_RECHECK_SECONDS="3600",
    )
    yield running
    running.close()


@pytest.fixture
def served(quiet: Served) -> Served:
    return quiet.with_new_people()


def cost(served: Served, transport: Transport, cursor: Cursor | None) -> int:
    """Queries of one attach: the least of several, since the last stream's end may come between."""
    found: list[int] = []
    for _ in range(5):
        before = served.control("inspect")["queries"]
        token = served.facts["alice"]["token"]
        reader = RawReader(served.url, served.session(), token, transport, cursor, small=False)
        reader.until_batches(1)
        found.append(served.control("inspect")["queries"] - before)
        reader.close()
    return min(found)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_attach_costs_as_many_queries_whatever_there_is(served: Served, transport: Transport) -> None:
    session, token = served.session(), served.facts["alice"]["token"]
    others = [RawReader(served.url, session, token, "websocket")]
    first = others[0].until_batches(1).batches[0]
    cursor = first["generation"], first["cursor"]
    costs = [(cost(served, transport, cursor), cost(served, transport, None))]
    served.control("history", session=session, entries=150)
    others += [RawReader(served.url, session, token, "sse") for _ in range(40)]
    wait_for(lambda: served.control("inspect", session=session)["watchers"] == 41, "all watch")
    served.control("publish", session=session, words=["w"] * 500)
    costs.append((cost(served, transport, cursor), cost(served, transport, None)))
    assert costs == [(WITH_CURSOR, WITHOUT)] * 2
    for reader in others:
        reader.close()
