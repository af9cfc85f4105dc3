"""Each series moves by the right number for what is known to have happened, on a real server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from streaming.limits import KIB, MIB
from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.modes import Servers
from tests.support.raw_reader import TRANSPORTS, RawReader
from tests.support.scrape import Scraper, Series, moved
from tests.support.server import ServerProcess
from tests.support.session import sse_batches

TOKEN = "scrape-canary"
WINDOW = 40
SETTINGS = {
    "ALBEDO_METRICS_TOKEN": TOKEN,
    "ALBEDO_FEED_WINDOW_EVENTS": str(WINDOW),
    "ALBEDO_WIRE_BREAKER_FAILURES": "2",
    "ALBEDO_WIRE_BREAKER_OPEN_SECONDS": "3600",
    "ALBEDO_ACTOR_RENEW_SECONDS": "0.3",
    "ALBEDO_DELIVERY_KEEPALIVE_SECONDS": "0.5",
    "ALBEDO_DELIVERY_SEND_SECONDS": "1.5",
}

pytestmark = pytest.mark.embedded(reason="behind a proxy nobody knows which process answers")


@pytest.fixture(scope="module")
def server(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with servers.running(tmp_path_factory.mktemp("server") / "data", **SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def scrape(server: ServerProcess) -> Iterator[Scraper]:
    scraper = Scraper(server.url, TOKEN)
    yield scraper
    scraper.close()


async def limited(request: ScriptedRequest, out: Out) -> None:
    await out.json(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "0"})


def test_a_write_is_one_transaction(server: ServerProcess, scrape: Scraper) -> None:
    client = server.client()
    session = client.post("/api/sessions", json={}).raise_for_status().json()
    before = scrape()
    client.patch(f"/api/sessions/{session['id']}", json={"name": "x"}).raise_for_status()
    assert moved(before, scrape(), "albedo_store_write_seconds_count") == {"": 1}
    waits = moved(before, scrape(), "albedo_store_wait_seconds_count")
    assert waits[" write"] == 1


def test_runs_attempts_kernels_and_streams_are_counted(
    server: ServerProcess, scrape: Scraper, model_on: MakeModel
) -> None:
    made = model_on(
        server,
        "chat_completions",
        limited,
        Reply(Call("python", {"code": "print(6 * 7)"})),
        Reply(Say("42")),
    )
    before = scrape()
    with made.session.follow() as follower:
        accepted = made.session.ask("compute")
        follower.until_answered(accepted["id"])
        during = scrape()
        newest = follower.cursor[1]
    after = scraped_without_streams(scrape)
    provider = made.profile
    assert moved(before, after, "albedo_provider_attempts_total") == {
        f" failed {provider}": 1,
        f" completed {provider}": 2,
    }
    assert moved(before, after, "albedo_provider_failures_total") == {f" rate_limited {provider}": 1}
    assert moved(before, after, "albedo_provider_first_event_seconds_count") == {f" {provider}": 2}
    assert moved(before, after, "albedo_runs_total") == {" completed": 1}
    assert moved(before, after, "albedo_inputs_accepted_total") == {"": 1}
    assert moved(before, after, "albedo_stream_resets_total") == {" initial": 1}
    assert moved(before, during, "albedo_stream_subscribers") == {" session websocket": 1}
    assert moved(before, after, "albedo_stream_subscribers") == {}
    assert moved(before, after, "albedo_stream_closes_total") == {" client websocket": 1}
    assert moved(before, after, "albedo_stream_window_evictions_total").get("", 0) == max(newest - WINDOW, 0)
    assert moved(before, during, "albedo_actors") == {"": 1}
    assert moved(before, during, "albedo_kernels")[" used"] == 1
    assert moved(before, after, "albedo_kernel_deaths_total") == {}
    assert during[("albedo_inputs_pending", frozenset())] == 0
    assert during[("albedo_runs_unfinished", frozenset())] == 0


def scraped_without_streams(scrape: Scraper) -> dict[Series, float]:
    """A client that left is noticed a moment later."""
    open_ = {"transport": "websocket", "of": "session"}
    scrape.until(lambda: scrape.value("albedo_stream_subscribers", **open_) == 0, "the end of streams")
    return scrape()


def test_events_that_leave_the_window_are_counted_and_who_missed_them_is_reset(
    server: ServerProcess, scrape: Scraper, model_on: MakeModel
) -> None:
    answers = [Reply(Say(f"answer {number}")) for number in range(10)]
    session = model_on(server, "responses", *answers).session
    first = session.page()
    for number in range(9):
        session.answer(f"question {number}")
    newest = session.snapshot()["cursor"]
    assert newest["sequence"] > WINDOW
    before = scrape()
    page = session.page((first["generation"], first["cursor"]))
    assert page["attach"]["reason"] == "replay_unavailable"
    session.page(("0-0", 1))
    resets = moved(before, scrape(), "albedo_stream_resets_total")
    assert resets == {" replay_unavailable": 1, " generation_changed": 1}
    total = scrape.value("albedo_stream_window_evictions_total")
    session.answer("one more")
    grown = session.snapshot()["cursor"]["sequence"] - newest["sequence"]
    assert scrape.value("albedo_stream_window_evictions_total") == total + grown


def test_a_stopped_run_and_an_event_stream_are_counted(
    server: ServerProcess, scrape: Scraper, model_on: MakeModel
) -> None:
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)

    made = model_on(server, "responses", slow)
    before = scrape()
    batches = sse_batches(made.session)
    next(batches)
    assert scrape.value("albedo_stream_subscribers", transport="sse", of="session") == 1
    made.session.ask("write")
    assert held.reached.wait_in_thread(30)
    during = scrape()
    assert during[("albedo_runs_unfinished", frozenset())] == 1
    made.session.interrupt()
    scrape.until(lambda: moved(before, scrape(), "albedo_runs_total") == {" interrupted": 1}, "the end")
    assert moved(before, scrape(), "albedo_provider_attempts_total") == {f" cancelled {made.profile}": 1}
    held.release.set()
    batches.close()  # type: ignore[attr-defined]
    scrape.until(
        lambda: moved(before, scrape(), "albedo_stream_closes_total") == {" client sse": 1},
        "the end of the stream",
    )


def test_a_kernel_that_dies_and_one_that_is_started_for_it_are_counted(
    server: ServerProcess, scrape: Scraper, model_on: MakeModel
) -> None:
    made = model_on(
        server, "responses", Reply(Call("python", {"code": "import os; os._exit(3)"})), Reply(Say("oh"))
    )
    before = scrape()
    made.session.answer("die")
    assert moved(before, scrape(), "albedo_kernel_deaths_total") == {"": 1}
    # The next one is warmed in its place.
    scrape.until(lambda: moved(before, scrape(), "albedo_kernel_starts_total") == {" ok": 1}, "a kernel")


def test_a_breaker_that_opens_is_shown(server: ServerProcess, scrape: Scraper, model_on: MakeModel) -> None:
    async def broken(request: ScriptedRequest, out: Out) -> None:
        await out.json(500, {"error": {"message": "out of order"}})

    made = model_on(server, "responses", broken, broken, max_retries=0)
    where = {"base_url": made.provider.base_url, "model": "scripted"}
    before = scrape()
    made.session.answer("one")
    assert scrape.value("albedo_provider_breaker_state", **where) == 0
    made.session.answer("two")
    made.session.answer("three")
    assert scrape.value("albedo_provider_breaker_state", **where) == 2
    assert moved(before, scrape(), "albedo_runs_total") == {" failed": 3}
    failures = moved(before, scrape(), "albedo_provider_failures_total")
    assert failures[f" provider_unavailable {made.profile}"] == 1
    assert sum(failures.values()) == 3


def test_a_lease_that_somebody_else_took_is_counted(
    server: ServerProcess, scrape: Scraper, model_on: MakeModel
) -> None:
    session = model_on(server, "responses", Reply(Say("one"))).session
    session.answer("hello")
    before = scrape()
    with closing(sqlite3.connect(server.data_dir / "albedo.sqlite3", timeout=30)) as other:
        query = "UPDATE sessions_app_session SET generation = generation + 1 WHERE id = ?"
        assert other.execute(query, [session.id.replace("-", "")]).rowcount == 1
        other.commit()
    scrape.until(lambda: moved(before, scrape(), "albedo_lease_losses_total") == {"": 1}, "the loss")


@pytest.mark.timeout(180)
def test_streams_that_were_too_slow_are_counted(
    server: ServerProcess, scrape: Scraper, model_on: MakeModel
) -> None:
    text = ("x" * (KIB - 1) + "\n") * (3 * MIB // KIB)
    session = model_on(server, "chat_completions", Reply(Say(text, fragments=16 * KIB))).session
    before = scrape()
    with ExitStack() as readers:
        for transport in TRANSPORTS:
            readers.enter_context(RawReader(server.url, session.id, session.token, transport))
        session.ask("write")
        slow = {" too_slow websocket": 1, " too_slow sse": 1}
        scrape.until(lambda: moved(before, scrape(), "albedo_stream_closes_total") == slow, "both are let go")
