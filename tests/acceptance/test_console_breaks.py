"""The console when the line breaks, the actor restarts or the login ends: it comes back, or says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel, Model
from tests.support.browser import Guard, browser, signed_in
from tests.support.common_server import no_session_stays, server
from tests.support.cut_proxy import CutProxy
from tests.support.raw_model import RawModel
from tests.support.server import ServerProcess

__all__ = ["browser", "no_session_stays", "server"]


@pytest.fixture
def protocol() -> str:
    return "responses"


@pytest.fixture
def line(server: ServerProcess) -> Iterator[CutProxy]:
    with CutProxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def guard(line: CutProxy) -> Guard:
    return Guard(line.url.removeprefix("http://"))


@pytest.fixture
def context(browser: Browser, server: ServerProcess, line: CutProxy) -> Iterator[BrowserContext]:
    opened = signed_in(browser, server, line.url)
    yield opened
    opened.close()


def opened(context: BrowserContext, guard: Guard, line: CutProxy, made: Model) -> Page:
    page = context.new_page()
    guard.watch(page)
    page.goto(f"{line.url}/sessions/{made.session.id}/")
    expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
    return page


def session_sockets(guard: Guard) -> list[str]:
    return [url for url in guard.sockets if "/ws/sessions/" in url]


def test_a_break_in_the_middle_of_an_answer_loses_nothing_and_repeats_nothing(
    context: BrowserContext, guard: Guard, line: CutProxy, model: MakeModel
) -> None:
    unseen, rest = Barrier(), Barrier()

    async def slowly(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, "responses")
        await raw.begin()
        await raw.text("one 🎈 ")
        await out.pause(unseen)
        await raw.text("two 🎈 ")
        await out.pause(rest)
        await raw.text("three")
        await raw.end()

    made = model(slowly, Reply(Say("again")))
    page = opened(context, guard, line, made)
    page.fill("#composer-text", "count")
    page.click("#send")
    expect(page.locator(".provisional .growing .plain").last).to_have_text(re.compile("one 🎈"))
    line.cut()
    expect(page.locator("#connection")).to_have_attribute("data-kind", "waiting")
    unseen.release.set()
    with made.session.follow() as follower:
        follower.until(lambda: "two" in str(follower.view and follower.view["current_message"]))
    line.mend()
    expect(page.locator(".provisional .growing .plain").last).to_have_text(re.compile("^one 🎈 two 🎈"))
    expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
    rest.release.set()
    expect(page.locator("#history .said.assistant .body")).to_have_text("one 🎈 two 🎈 three")
    expect(page.locator(".said.user")).to_have_count(1)
    assert "after_generation=" not in session_sockets(guard)[0]
    assert re.search(r"after_generation=\S+&after_seq=[1-9]", session_sockets(guard)[-1])
    assert guard.wrong == []


def test_an_input_sent_into_a_broken_line_arrives_once(
    context: BrowserContext, guard: Guard, line: CutProxy, model: MakeModel
) -> None:
    made = model(Reply(Say("heard")))
    page = opened(context, guard, line, made)
    line.cut()
    page.fill("#composer-text", "hello?")
    page.click("#send")
    expect(page.locator("#send")).to_be_disabled()
    line.mend()
    expect(page.locator("#history .said.assistant")).to_contain_text("heard")
    assert len(made.session.get("/inputs")["items"]) == 1
    expect(page.locator("#composer-text")).to_have_value("")


def test_an_actor_that_restarts_brings_a_reset_and_the_page_shows_what_lasts(
    server: ServerProcess, context: BrowserContext, guard: Guard, line: CutProxy, model: MakeModel
) -> None:
    never = Barrier()

    async def half(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, "responses")
        await raw.begin()
        await raw.text("half an ans")
        await out.pause(never)

    made = model(Reply(Say("whole")), half)
    made.session.answer("first")
    page = opened(context, guard, line, made)
    page.fill("#composer-text", "second")
    page.click("#send")
    expect(page.locator(".provisional")).to_contain_text("half an ans")
    assert server.client().post(f"/api/inspect/sessions/{made.session.id}/restart").status_code == 204
    expect(page.locator(".provisional")).to_be_hidden()
    expect(page.locator("#phase")).to_have_attribute("data-phase", "idle")
    expect(page.locator(".said.user")).to_have_count(2)
    expect(page.locator("#history .said.assistant .body")).to_have_text("whole")


def test_a_login_that_ends_stops_the_page_and_leads_to_the_form(
    context: BrowserContext, guard: Guard, line: CutProxy, model: MakeModel
) -> None:
    made = model()
    page = opened(context, guard, line, made)
    other = context.new_page()
    other.goto(f"{line.url}/")
    other.click(".who button")
    other.wait_for_url("**/login/**")
    expect(page.locator("#connection")).to_have_attribute("data-kind", "stopped")
    expect(page.locator("#notices")).to_contain_text("signed out")
    page.click("#sign-in")
    page.wait_for_url(re.compile(rf"/login/\?next=/sessions/{made.session.id}/"))


def test_a_session_that_is_deleted_stops_the_page(
    context: BrowserContext, guard: Guard, line: CutProxy, model: MakeModel
) -> None:
    made = model()
    page = opened(context, guard, line, made)
    made.session.http.delete(made.session.path).raise_for_status()
    expect(page.locator("#connection")).to_have_attribute("data-kind", "stopped")
    expect(page.locator("#notices")).to_contain_text("does not exist")
