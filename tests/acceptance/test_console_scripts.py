"""The console's pure parts, run where they live: its fold against the server's, its counting, its drawing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from streaming.feed.events import Event
from streaming.feed.fold import fold
from streaming.feed.tails import EMPTY, extend
from tests.support.browser import browser
from tests.support.common_server import no_session_stays, server
from tests.support.server import ServerProcess
from tests.unit.feed.samples import STORY, fresh_state, snapshot_of

__all__ = ["browser", "no_session_stays", "server"]

GENERATION = "1-abcd0123"
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# What reaches a browser is UTF-8, which has no lone surrogates.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("🎈a\u0301\U0010ffff"), max_size=40
)


@pytest.fixture(scope="module")
def page(browser: Browser, server: ServerProcess) -> Iterator[Page]:
    opened = browser.new_page()
    opened.goto(f"{server.url}/login/")
    yield opened
    opened.close()


def run(page: Page, module: str, body: str, argument: Any = None) -> Any:
    """The value of `body`, in which `m` is the module and `a` the argument."""
    script = f"async (a) => {{ const m = await import('/static/albedo/{module}.js'); return {body}; }}"
    return page.evaluate(script, argument)


def numbered(events: tuple[Event, ...]) -> list[dict[str, Any]]:
    return [{"type": event.type, "sequence": n, "data": event.data} for n, event in enumerate(events, 1)]


def snapshots() -> list[dict[str, Any]]:
    found = [snapshot_of(fresh_state(GENERATION), [])]
    for event in numbered(STORY):
        found.append(fold(found[-1], event))
    return found


def plain(value: Any) -> Any:
    """A state without what the page adds for itself or leaves out."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        dropped = {"end_scalars", "duration_ms", "input_id"}
        return {name: plain(item) for name, item in value.items() if name not in dropped}
    return value


@pytest.mark.parametrize("cut", range(0, len(STORY), 5))
def test_the_page_folds_every_event_as_the_server_does(page: Page, cut: int) -> None:
    states = snapshots()
    body = "a.events.reduce((found, event) => [...found, m.fold(found.at(-1), event)], [a.start])"
    folded = run(page, "fold", body, {"start": states[cut], "events": numbered(STORY)[cut:]})
    for index, (ours, theirs) in enumerate(zip(folded, states[cut:], strict=True)):
        assert plain(ours) == plain(theirs), STORY[cut + index - 1].type


def test_folding_changes_no_state_in_place(page: Page) -> None:
    body = """a.events.reduce((state, event) => {
        const freeze = (value) => {
            if (value && typeof value === "object" && !Object.isFrozen(value)) {
                Object.freeze(value);
                Object.values(value).forEach(freeze);
            }
            return value;
        };
        return m.fold(freeze(state), freeze(event));
    }, a.start).cursor.sequence"""
    assert run(page, "fold", body, {"start": snapshots()[0], "events": numbered(STORY)}) == len(STORY)


@FEW
@given(st.lists(st.tuples(st.integers(0, 30), TEXTS), max_size=6))
def test_a_tail_grows_as_the_servers_does_whatever_comes(page: Page, pieces: list[tuple[int, str]]) -> None:
    theirs = EMPTY
    for offset, text in pieces:
        theirs = extend(theirs, offset, text, 10**6)
    body = (
        "a.reduce((tail, [offset, text]) => m.extendTail(tail, offset, text), {offset_scalars: 0, text: ''})"
    )
    assert plain(run(page, "fold", body, pieces)) == theirs


def test_a_tail_is_bounded_and_never_begins_inside_a_pair(page: Page) -> None:
    ours = run(page, "fold", "m.extendTail({offset_scalars: 0, text: ''}, 0, 'x' + '🎈'.repeat(200000))")
    assert len(ours["text"]) == 128 * 1024
    assert set(ours["text"]) == {"🎈"}
    assert ours["offset_scalars"] == 200_001 - 128 * 1024


@FEW
@given(TEXTS, st.integers(0, 45))
def test_scalars_are_counted_and_dropped_as_python_does(page: Page, text: str, count: int) -> None:
    assert run(page, "scalars", "[m.countScalars(a[0]), m.dropScalars(a[0], a[1])]", [text, count]) == [
        len(text),
        text[count:],
    ]


BATCH: dict[str, Any] = {"generation": GENERATION, "cursor": 2, "events": numbered(STORY)[:2]}


@pytest.mark.parametrize(
    ("batch", "gap", "sequence"),
    [
        (BATCH, False, 2),
        (BATCH | {"events": numbered(STORY)[1:2]}, True, 0),
        (BATCH | {"generation": "2-other"}, True, 0),
        (BATCH | {"events": []}, True, 0),
        (BATCH | {"events": [], "cursor": 0}, False, 0),
        (BATCH | {"events": [{"type": "reset", "data": {}}]}, True, 0),
        (BATCH | {"events": [*BATCH["events"], *BATCH["events"]]}, False, 2),
        (BATCH | {"events": [{"type": "from_the_future", "sequence": 1, "data": {}}], "cursor": 1}, False, 1),
    ],
    ids=[
        "next",
        "hole",
        "other generation",
        "cursor ahead",
        "keepalive",
        "bare reset",
        "repeated",
        "unknown type",
    ],
)
def test_a_batch_is_followed_or_a_gap_is_seen(
    page: Page, batch: dict[str, Any], gap: bool, sequence: int
) -> None:
    applied = run(page, "fold", "m.applyBatch(a.state, a.batch)", {"state": snapshots()[0], "batch": batch})
    assert (applied["gap"], applied["state"]["cursor"]["sequence"]) == (gap, sequence)


def entry(position: int) -> dict[str, Any]:
    return {"id": f"e{position}", "position": position, "kind": "user", "content": []}


@pytest.mark.parametrize(("known", "kept"), [([1, 2, 3], [1, 2, 3, 4, 5]), ([1, 2], [4, 5]), ([], [4, 5])])
def test_a_reset_keeps_older_history_only_where_it_joins_on(
    page: Page, known: list[int], kept: list[int]
) -> None:
    state = snapshots()[0]
    state["history"] = {
        "items": [entry(n) for n in known],
        "older": None,
        "high_water": max(known, default=0),
    }
    snapshot = snapshots()[0]
    snapshot["history"] = {"items": [entry(4), entry(5)], "older": "t", "high_water": 5}
    batch = {
        "generation": GENERATION,
        "cursor": 0,
        "events": [{"type": "reset", "data": {}}],
        "snapshot": snapshot,
    }
    applied = run(page, "fold", "m.applyBatch(a.state, a.batch)", {"state": state, "batch": batch})
    assert [item["position"] for item in applied["state"]["history"]["items"]] == kept
    assert not applied["gap"]


def test_ids_are_version_7_and_sort_by_time(page: Page) -> None:
    ids = run(page, "ids", "[m.uuid7(1), m.uuid7(2 ** 40), m.uuid7(2 ** 47)]")
    assert ids == sorted(ids)
    assert all(made[14] == "7" and made[19] in "89ab" and len(made) == 36 for made in ids)


def test_waits_grow_to_a_bound_and_are_spread(page: Page) -> None:
    waits = run(
        page, "stream", "[0, 1, 2, 30].map((n) => [m.waitBefore(n, () => 0), m.waitBefore(n, () => 1)])"
    )
    assert waits == [[200, 400], [400, 800], [800, 1600], [7500, 15000]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]8;;javascript:x\x07", "a\u241b]8;;javascript:x\u2407"),
        ("\u202egnp.exe\u2066", "⟪U+202E⟫gnp.exe⟪U+2066⟫"),
        ("one\r\ntwo\rthree\tfour", "one\ntwo\nthree\tfour"),
        ("\x00\x7f\x9b", "\u2400\u2421\ufffd"),
        ("عربى 🎈 é", "عربى 🎈 é"),
    ],
)
def test_controls_become_visible_and_words_stay(page: Page, text: str, shown: str) -> None:
    assert run(page, "safe", "m.visible(a)", text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//h",
        "x",
    ],
)
def test_no_link_leads_anywhere_but_to_the_web(page: Page, text: str) -> None:
    assert run(page, "safe", "m.safeUrl(a)", text) is None
    assert run(page, "safe", "m.safeUrl('https://h.example/x')") == "https://h.example/x"


@pytest.mark.parametrize(
    "path", ["//evil.example/api/", "https://evil.example", "/api/../admin/", "/login/", None, 7]
)
def test_only_the_apis_own_paths_are_fetched(page: Page, path: object) -> None:
    assert run(page, "safe", "m.ownPath(a)", path) is None
    assert run(page, "safe", "m.ownPath('/api/sessions/x/artifacts/y')") == "/api/sessions/x/artifacts/y"


MANY = 100_000
UNITS = [
    "*",
    "[",
    "[a](",
    "`",
    "> ",
    "_*",
    "# ",
    "|a",
    "```\n",
    "~~~",
    "  - x\n",
    "https://",
    "\n",
    "\u202e",
    "\x1b[",
]
DRAWN = "(() => { const all = document.createElement('div'); all.append(m.markup(a)); return all; })()"


@pytest.mark.parametrize("unit", UNITS)
def test_whatever_is_repeated_is_drawn_whole_and_soon(page: Page, unit: str) -> None:
    """A drawing whose cost grows faster than its text misses the test's deadline."""
    text = (unit * MANY)[:MANY]
    assert "the end" in run(page, "markup", f"{DRAWN}.textContent", text + "\n\nthe end")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("a `b` **c**", "<p>a <code>b</code> <strong>c</strong></p>"),
        ("## Title\ntext", '<p class="heading">Title</p><p>text</p>'),
        ("**open `and", "<p>**open `and</p>"),
        ("<b>x</b> & y", "<p>&lt;b&gt;x&lt;/b&gt; &amp; y</p>"),
    ],
)
def test_the_little_markdown_there_is(page: Page, text: str, html: str) -> None:
    assert run(page, "markup", f"{DRAWN}.innerHTML", text) == html


def test_an_image_is_a_link_at_most(page: Page) -> None:
    elements = "[...all.querySelectorAll('*')].map((one) => one.localName)"
    body = DRAWN.replace("return all;", f"return {elements};")
    assert run(page, "markup", body, "![x](http://h.example/i.png)") == ["p", "a"]


def test_a_fence_holds_everything_to_its_own_end(page: Page) -> None:
    body = "[...m.markup(a).querySelectorAll('pre')].map((one) => one.textContent)"
    text = "x\n````py\na\n```\nb\n````\ny\n~~~\nopen"
    assert run(page, "markup", body, text) == ["a\n```\nb", "open"]
