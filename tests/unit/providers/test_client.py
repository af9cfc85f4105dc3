"""The client gives every attempt a record and a clock that never runs backwards, and ends what it began."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

from streaming.limits import WireLimits
from streaming.providers.breaker import Breaker
from streaming.providers.client import ProviderClient
from streaming.providers.scripted import ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from tests.support.provider_attempts import KEY, ask, profile, provider_client, run

WALL = datetime(2026, 1, 1, tzinfo=UTC)


async def test_times_follow_the_monotonic_clock_whatever_the_wall_does() -> None:
    wall, clock = [WALL], [100.0]
    client = ProviderClient(limits=WireLimits(), clock=lambda: clock[0], wall=lambda: wall[0])
    attempt = client.attempt(profile("http://h/v1"), ask(), run_id="r", step=2, attempt=3, run_deadline=None)
    clock[0] += 5
    wall[0] -= timedelta(days=1)
    attempt.cancel("user_stop")
    record = attempt.record
    assert (record.started_at, record.cancel_observed_at) == (WALL, WALL + timedelta(seconds=5))
    assert (record.run_id, record.step, record.attempt) == ("r", 2, 3)
    await client.aclose()


async def test_every_attempt_has_its_own_id() -> None:
    client = ProviderClient(limits=WireLimits())
    made = [
        client.attempt(profile("http://h/v1"), ask(), run_id="r", step=1, attempt=1, run_deadline=None)
        for _ in range(3)
    ]
    assert len({attempt.record.id for attempt in made}) == 3
    await client.aclose()


async def test_closing_the_client_ends_open_exchanges() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.start()
        await request.closed.wait()

    async with ScriptedProvider(script) as server:
        client = ProviderClient(limits=WireLimits())
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        reading = asyncio.ensure_future(anext(attempt.events()))
        async with asyncio.timeout(40):
            while not server.requests:
                await asyncio.sleep(0.005)
            await client.aclose()
            await server.requests[0].closed.wait()
            await asyncio.gather(reading, return_exceptions=True)
    assert reading.exception() is not None


async def test_a_report_is_ready_for_json_and_holds_no_secret() -> None:
    breaker = Breaker(failures=1, open_seconds=30)
    breaker.record(("https://user:canary@h/v1?key=canary", "m"), failed=True, now=100.0)
    async with provider_client(breaker=breaker, clock=lambda: 112.34) as client:
        report = client.report()
    endpoint = {"base_url": "https://h/v1", "model": "m"}
    assert report["breakers"] == [{**endpoint, "state": "open", "failures": 1, "wait_seconds": 17.7}]
    assert json.loads(json.dumps(report)) == report


async def test_a_report_names_who_failed_and_who_is_asked_without_a_stream() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        if request.wants_stream:
            await out.json(400, {"error": {"message": "stream is not supported", "param": "stream"}})
        else:
            await out.json(503, {"error": {"message": "later"}})

    async with ScriptedProvider(script) as server, provider_client() as client:
        to = profile(server.base_url)
        await run(client, to)
        report = client.report()
        endpoint = {"base_url": server.base_url, "model": to.model}
    assert report["breakers"] == [{**endpoint, "state": "closed", "failures": 1, "wait_seconds": 0.0}]
    assert report["streamless"] == [endpoint]
    assert KEY not in json.dumps(report)
