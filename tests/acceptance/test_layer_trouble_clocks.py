"""The wall clocks of a host and of a web process are stepped, by an hour, a day and more, while they work."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from streaming.limits import ActorLimits
from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Say
from tests.support.cluster import Cluster
from tests.support.layer_trouble import (
    PATIENCE_SECONDS,
    SOON,
    SseReader,
    Talker,
    count_of,
    one_log,
    seen_from,
    session_on,
)
from tests.support.postgres import PostgresServer
from tests.support.processes import wait_for
from tests.support.session import Follower
from tests.support.stepped_clock import SteppedClock

HOUR, DAY = 3_600, 86_400
STEPS = (HOUR, -DAY, 25 * HOUR)
LEASE_SECONDS = ActorLimits().lease_seconds

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def clock(tmp_path: Path) -> SteppedClock:
    return SteppedClock(tmp_path)


@pytest.fixture
def cluster(
    clock: SteppedClock, tmp_path: Path, postgres_server: PostgresServer, redis_url: str
) -> Iterator[Cluster]:
    url = postgres_server.new_database()
    made = Cluster(tmp_path, url, redis_url)
    made.environment |= SOON
    yield made
    made.close()
    postgres_server.drop(url)


def renewed(cluster: Cluster, session_id: str) -> None:
    """The lease is renewed for as long as ever by the database's clock, and has had one holder."""
    query = (
        "SELECT lease_until, generation, extract(epoch FROM lease_until - now()) "
        "FROM sessions_app_session WHERE id = %s"
    )
    ends = set()
    with psycopg.connect(cluster.environment["DATABASE_URL"], autocommit=True) as connection:

        def again() -> bool:
            found = connection.execute(query, [session_id]).fetchone()
            assert found is not None
            ends.add(found[0])
            assert found[1] == 1
            assert 0 < found[2] <= LEASE_SECONDS
            return len(ends) > 1

        wait_for(again, "the lease is renewed", PATIENCE_SECONDS)


def heard(follower: Follower, reader: SseReader) -> None:
    seen = count_of("text", follower.events), count_of("text", reader.events)
    wait_for(
        lambda: count_of("text", follower.events) > seen[0] and count_of("text", reader.events) > seen[1],
        "both hear on",
        PATIENCE_SECONDS,
    )


def test_no_step_of_a_clock_moves_a_session_or_ends_a_subscription(
    cluster: Cluster, clock: SteppedClock
) -> None:
    """One host and one web process go by the clock that is stepped, the other host and web process do not."""
    talker = Talker()
    stepped, steady = cluster.web(**clock.environment), cluster.web()
    cluster.host(**clock.environment)
    with ScriptedThread([talker, Reply(Say("and on"))]) as model:
        session = session_on(stepped, model)
        there = seen_from(steady, session)
        with session.follow() as follower, SseReader(there) as reader:
            accepted = session.ask("count")
            heard(follower, reader)
            cluster.host()
            for seconds in STEPS:
                clock.step(seconds)
                renewed(cluster, session.id)
                heard(follower, reader)
            talker.enough.set()
            follower.until_answered(accepted["id"])
            wait_for(lambda: count_of("turn_completed", reader.events) == 1, "the end", PATIENCE_SECONDS)
            assert one_log(follower.events) == one_log(reader.events) == talker.words
            ended_at = datetime.fromisoformat(session.get("/runs")["items"][0]["ended_at"])
            assert ended_at - datetime.now(UTC) > timedelta(hours=20), "the owner's clock was not stepped"
            follower.until_answered(there.ask("on")["id"])
            assert (follower.close_code, reader.ended) == (None, False)
            assert follower.of("reset") == [{"reason": "initial"}]
