"""The console in a real browser: a conversation from the first character of a call to its result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say, Think
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.browser import Guard, browser, signed_in
from tests.support.common_server import no_session_stays, server
from tests.support.raw_model import RawModel
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

__all__ = ["browser", "no_session_stays", "server"]

PNG = (
    "import base64\nfrom IPython.display import HTML, Image, display\n"
    "display(Image(data=base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))\n"
)
OpenSession = Callable[..., Page]


@pytest.fixture
def protocol() -> str:
    return "chat_completions"


@pytest.fixture(scope="module")
def context(browser: Browser, server: ServerProcess) -> Iterator[BrowserContext]:
    opened = signed_in(browser, server, viewport={"width": 1200, "height": 800})
    yield opened
    opened.close()


@pytest.fixture
def guard(server: ServerProcess) -> Guard:
    return Guard(server.url.removeprefix("http://"))


@pytest.fixture
def open_session(context: BrowserContext, server: ServerProcess, guard: Guard) -> Iterator[OpenSession]:
    """The page of a session, once it is live. At the end nothing that must never happen has happened."""
    pages: list[Page] = []

    def open_(session: SessionClient) -> Page:
        page = context.new_page()
        pages.append(page)
        guard.watch(page)
        page.goto(f"{server.url}/sessions/{session.id}/")
        expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
        return page

    yield open_
    for page in pages:
        page.close()
    assert guard.wrong == []


def say(page: Page, text: str) -> None:
    page.fill("#composer-text", text)
    page.press("#composer-text", "Enter")


def idle(page: Page) -> None:
    expect(page.locator("#phase")).to_have_attribute("data-phase", "idle")


def test_a_conversation_is_seen_from_the_first_character_of_a_call_to_its_result(
    model: MakeModel, open_session: OpenSession, protocol: str
) -> None:
    written, more = Barrier(), Barrier()

    async def slowly(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.text("Let me **look**.")
        await raw.call(0, "python", "call_1", '{"code": "import os, time\\nprint(\'caf\\u00e9 \\ud83c')
        await raw.arguments(0, "\\udf88', flush=True)\\n#")
        await out.pause(written)
        await raw.arguments(0, "x" * 600)
        await out.pause(more)
        await raw.arguments(0, "\\nwhile not os.path.exists('go'): time.sleep(0.02)\\nprint('over')\"}")
        await raw.end()

    made = model(slowly, Reply(Say("It said `over`.\n\n```python\n1 < 2\n```")))
    page = open_session(made.session)
    expect(page.locator("#empty")).to_be_visible()
    say(page, "what does it say?")
    expect(page.locator(".said.user")).to_contain_text("what does it say?")
    expect(page.locator(".provisional")).to_contain_text("Let me **look**.")
    tool = page.locator(".tool")
    expect(tool.locator(".tool-name")).to_have_text("python")
    expect(tool.locator(".chip")).to_have_text("being written")
    expect(tool.locator(".preview")).to_contain_text("print('café 🎈', flush=True)")
    expect(tool.locator(".mark")).to_be_hidden()
    written.release.set()
    expect(tool.locator(".mark")).to_be_visible()
    expect(tool.locator(".mark")).to_have_text(re.compile(r"… \d+ characters before this"))
    expect(tool.locator(".tool-facts")).to_have_text(re.compile(r"^6\d\d characters$"))
    more.release.set()
    expect(tool.locator(".chip")).to_have_text("running")
    expect(tool.locator(".output.live")).to_contain_text("café 🎈")
    expect(page.locator(".provisional")).to_be_hidden()
    expect(page.locator("#history .said.assistant strong").first).to_have_text("look")
    Path(made.session.snapshot()["workspace"], "go").touch()
    expect(tool.locator(".chip")).to_have_text("done")
    expect(tool.locator(".output")).to_contain_text("over")
    expect(tool.locator(".tool-facts")).to_have_text(re.compile(r"\d (ms|s)$"))
    expect(page.locator(".said .code code").last).to_have_text("1 < 2")
    idle(page)
    expect(page.locator(".tool")).to_have_count(1)
    expect(page.locator("#session-name")).to_have_text("what does it say?")
    seen = page.locator("#history").inner_text()
    page.reload()
    expect(page.locator(".said .code code").last).to_have_text("1 < 2")
    assert page.locator("#history").inner_text().replace("done\n\n", "done\n") == _without_duration(seen)


def _without_duration(text: str) -> str:
    """The stored entry of a result does not tell how long the call took."""
    return re.sub(r"done\n[\d.]+ m?s\n", "done\n", text)


def test_thinking_errors_pictures_and_pages_of_a_result(model: MakeModel, open_session: OpenSession) -> None:
    page_code = "display(HTML(\"<b>bold</b><script>parent.__x = 1; document.title = 'ran'</script>\"))\n"
    made = model(
        Reply(Think("I wonder"), Call("python", {"code": PNG + page_code + "1 / 0"})), Reply(Say("so it is"))
    )
    page = open_session(made.session)
    say(page, "go")
    idle(page)
    expect(page.locator("#history")).to_contain_text("so it is")
    expect(page.locator("#usage")).to_have_text("10 in, 14 out")
    expect(page.locator(".thinking .plain").first).to_have_text("I wonder")
    expect(page.locator(".error-title")).to_contain_text("ZeroDivisionError")
    picture = page.locator(".picture img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 1
    frame = page.frame_locator(".page iframe")
    expect(frame.locator("b")).to_have_text("bold")
    assert page.locator(".page iframe").get_attribute("sandbox") == ""
    assert page.evaluate("window.__x === undefined")


def test_an_input_waits_is_taken_back_and_a_stop_ends_the_run(
    model: MakeModel, open_session: OpenSession
) -> None:
    made = model(
        Reply(Call("python", {"code": "print('begun', flush=True)\nwhile True: pass"})), Reply(Say("end"))
    )
    page = open_session(made.session)
    say(page, "loop")
    expect(page.locator(".output.live")).to_contain_text("begun")
    say(page, "take this back")
    expect(page.locator("#pending li")).to_contain_text("take this back")
    page.click("#pending button")
    expect(page.locator("#pending")).to_be_hidden()
    page.press("#composer-text", "Escape")
    idle(page)
    expect(page.locator(".tool .chip")).to_have_text("interrupted")
    expect(page.locator("#notices")).to_contain_text("interrupted")
    say(page, "and now")
    expect(page.locator("#history .said.assistant").last).to_contain_text("end")
    expect(page.locator("#notices li")).to_have_count(0)
    run = made.session.get("/runs")["items"][0]
    assert run["state"] == "interrupted"
    assert "take this back" not in str(made.session.history())


def test_while_it_works_one_may_steer_or_interrupt(model: MakeModel, open_session: OpenSession) -> None:
    wait = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)"
    made = model(Reply(Call("python", {"code": wait})), Reply(Say("steered")))
    page = open_session(made.session)
    expect(page.locator("#when-busy")).to_be_hidden()
    say(page, "wait")
    expect(page.locator(".output.live")).to_contain_text("begun")
    page.select_option("#when-busy", "steer")
    say(page, "turn left")
    expect(page.locator("#pending li")).to_contain_text("joins the next step")
    Path(made.session.snapshot()["workspace"], "go").touch()
    expect(page.locator("#history .said.assistant").last).to_contain_text("steered")
    assert len(made.session.get("/runs")["items"]) == 1


def test_a_failed_run_says_why_and_a_retry_is_told(model: MakeModel, open_session: OpenSession) -> None:
    seen = Barrier()

    async def overloaded(request: ScriptedRequest, out: Out) -> None:
        await out.json(503, {"error": {"message": "busy"}})

    async def refused(request: ScriptedRequest, out: Out) -> None:
        await out.pause(seen)
        await out.json(401, {"error": {"message": "bad key <b>here</b>", "type": "invalid_request_error"}})

    made = model(overloaded, refused)
    page = open_session(made.session)
    say(page, "x")
    expect(page.locator("#notices .retry")).to_contain_text("Trying again")
    seen.release.set()
    expect(page.locator("#notices .error")).to_contain_text("bad key <b>here</b>")
    expect(page.locator("#notices .retry")).to_have_count(0)
    idle(page)


def test_older_history_and_large_results_come_on_demand(model: MakeModel, open_session: OpenSession) -> None:
    calls = [Call("python", {"code": f"print('cell {n}')"}, id=f"call_{n}") for n in range(60)]
    large = Call(
        "python", {"code": "print('y' * 99 + '\\n', end='')\nprint('z' * 400_000 + 'END')"}, id="call_l"
    )
    made = model(Reply(*calls, large), Reply(Say("enough")))
    made.session.answer("many")
    page = open_session(made.session)
    expect(page.locator("#history")).to_contain_text("enough")
    expect(page.get_by_text("many", exact=True)).to_have_count(0)
    first = page.locator("#history > li").first
    page.click("#older")
    expect(page.get_by_text("many", exact=True)).to_have_count(1)
    expect(page.locator("#older")).to_be_hidden()
    positions = page.locator("#history > li").evaluate_all(
        "rows => rows.map(row => Number(row.dataset.position))"
    )
    assert positions == sorted(positions)
    expect(first).to_contain_text("many")
    expect(page.locator(".tool")).to_have_count(61)
    more = page.locator(".tool").last.get_by_role("button", name=re.compile("Show full output"))
    more.click()
    shown = page.locator(".tool").last.locator(".paged pre").last
    expect(shown).to_contain_text("y" * 99)
    page.locator(".tool").last.get_by_role("button", name="Load more").click()
    expect(shown).to_contain_text("zEND")


def test_the_list_follows_what_happens_and_can_be_searched(
    server: ServerProcess, model: MakeModel, open_session: OpenSession
) -> None:
    made = model(Reply(Say("x")))
    page = open_session(made.session)
    other = SessionClient.create(server, name="made elsewhere <i>now</i>")
    rows = page.locator("#sessions li")
    expect(rows.filter(has_text="made elsewhere <i>now</i>")).to_have_count(1)
    other.http.patch(other.path, json={"name": "renamed"}).raise_for_status()
    expect(rows.filter(has_text="renamed")).to_have_count(1)
    page.fill("#search", "no session is called this")
    expect(page.locator("#none")).to_be_visible()
    page.fill("#search", "renam")
    expect(rows).to_have_count(1)
    rows.locator("a").click()
    expect(page.locator("#session-name")).to_have_text("renamed")
    page.click("#settings-open")
    page.click("#settings-archive")
    expect(page.locator("#sessions li").filter(has_text="renamed")).to_have_count(0)
    page.check("#archived")
    expect(page.locator("#sessions li").filter(has_text="renamed")).to_have_count(1)


def test_settings_are_changed_and_what_is_refused_is_said(
    model: MakeModel, open_session: OpenSession
) -> None:
    made = model()
    page = open_session(made.session)
    page.click("#settings-open")
    page.fill("#settings-name", "A better name")
    page.fill("#settings-instructions", "Be brief.")
    page.click("#settings-form [type=submit]")
    expect(page.locator("#session-name")).to_have_text("A better name")
    page.click("#settings-open")
    page.fill("#settings-provider", "nobody")
    page.click("#settings-form [type=submit]")
    expect(page.locator("#settings-error")).not_to_be_empty()
    snapshot: dict[str, Any] = made.session.snapshot()
    assert (snapshot["name"], snapshot["instructions"]) == ("A better name", "Be brief.")
    assert snapshot["provider"] == made.profile


def test_on_a_narrow_screen_nothing_sticks_out_and_the_list_opens(
    browser: Browser, server: ServerProcess, model: MakeModel
) -> None:
    words = "a" * 300 + " " + "https://h.example/" + "b" * 300 + "\n\n```\n" + "c" * 300 + "\n```"
    made = model(Reply(Say(words), Call("python", {"code": "print('d' * 500)"})), Reply(Say("done")))
    made.session.answer("e" * 300)
    context = signed_in(browser, server, viewport={"width": 360, "height": 700}, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{server.url}/sessions/{made.session.id}/")
    expect(page.locator("#history")).to_contain_text("done")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("document.getElementById('transcript').scrollWidth <= window.innerWidth")
    expect(page.locator("#sidebar")).to_be_hidden()
    page.click("#menu")
    expect(page.locator("#sessions li").first).to_be_visible()
    context.close()
