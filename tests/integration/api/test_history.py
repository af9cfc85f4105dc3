"""History in pages: every entry once, both ways, within bounds, at a fixed number of queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.access import session_for
from sessions_app.contents import content_page
from sessions_app.history import NEWEST, Place, history_page
from sessions_app.models import Entry, Session
from sessions_app.store.content import pieces
from sessions_app.store.executor import read
from tests.integration.api.callers import Caller, fresh, problem, told
from tests.integration.api.rows import add_call, add_call_entry, add_run, add_texts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def path(alice: Caller) -> str:
    return f"/api/sessions/{(await alice.make_session())['id']}"


async def walk(caller: Caller, path: str, start: str, token_name: str) -> list[list[int]]:
    """The positions of each page from `start` on, following one kind of token to its end."""
    pages = [told(await caller.get(f"{path}/history?{start}"))]
    while pages[-1][token_name]:
        pages.append(told(await caller.get(f"{path}/history?limit=7&next={pages[-1][token_name]}")))
    return [[item["position"] for item in page["items"]] for page in pages]


async def test_pages_cover_every_entry_once_in_both_directions(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], [f"text {n}" for n in range(23)])
    older = await walk(alice, path, "limit=7", "older")
    assert [p for page in reversed(older) for p in page] == list(range(1, 24))
    newer = await walk(alice, path, "limit=7&after=0", "newer")
    assert [p for page in newer for p in page] == list(range(1, 24))
    assert all(page == sorted(page) for page in older + newer)


async def test_a_page_beside_a_position_leaves_it_out(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["x"] * 9)

    async def positions(query: str) -> list[int]:
        return [item["position"] for item in told(await alice.get(f"{path}/history?{query}"))["items"]]

    assert await positions("before=4&limit=2") == [2, 3]
    assert await positions("after=4&limit=2") == [5, 6]
    assert await positions("before=1") == []
    assert await positions("before=0") == []
    assert await positions("after=9") == []
    assert await positions("after=999999999999999999") == []


async def test_a_page_beyond_either_end_leads_back(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["x"] * 3)
    past = told(await alice.get(f"{path}/history?after=50"))
    assert (past["items"], past["newer"], past["high_water"]) == ([], None, 3)
    back = told(await alice.get(f"{path}/history?next={past['older']}"))
    assert [item["position"] for item in back["items"]] == [1, 2, 3]
    first = told(await alice.get(f"{path}/history?before=1"))
    assert (first["older"], first["newer"] is not None) == (None, True)


async def test_a_page_is_bounded_in_bytes_and_has_an_entry_at_least(alice: Caller, path: str) -> None:
    large = "x" * 15_000
    await read(add_texts, path.rsplit("/", 1)[1], [large] * 40)
    page = told(await alice.get(f"{path}/history?limit=200"))
    assert 0 < len(page["items"]) < 18
    assert sum(len(item["content"][0]["text"]) for item in page["items"]) <= 256 * 1024
    assert page["items"][-1]["position"] == 40
    snapshot = told(await alice.get(f"{path}?tail=200"))
    assert [item["id"] for item in snapshot["history"]["items"]] == [item["id"] for item in page["items"]]


async def test_an_entry_larger_than_a_page_has_its_page(alice: Caller, path: str, settings: Any) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "history_page_bytes": 10}
    await read(add_texts, path.rsplit("/", 1)[1], ["much more than that"] * 3)
    assert await walk(alice, path, "limit=7", "older") == [[3], [2], [1]]


async def test_a_tail_of_nothing_still_leads_to_the_entries(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["x"] * 3)
    history = told(await alice.get(f"{path}?tail=0"))["history"]
    assert (history["items"], history["high_water"]) == ([], 3)
    page = told(await alice.get(f"{path}/history?next={history['older']}"))
    assert [item["position"] for item in page["items"]] == [1, 2, 3]


async def test_a_page_costs_two_queries_wherever_it_lies(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["x"] * 60)

    def count(place: Place, limit: int) -> int:
        session = session_for(alice.user, path.rsplit("/", 1)[1])
        with CaptureQueriesContext(connection) as queries:
            history_page(session, place, limit)
        return len(queries)

    costs = {await read(count, *at) for at in [(NEWEST, 1), (NEWEST, 50), (Place("before", 30), 20)]}
    assert costs == {2}


@pytest.mark.parametrize(
    "query",
    [
        "before=1&after=2",
        "before=-1",
        "after=1_0",
        "after=٣",
        "before=" + "9" * 50,
        "limit=201",
        "before=1.5",
    ],
)
async def test_a_position_is_given_once_and_as_digits(alice: Caller, path: str, query: str) -> None:
    problem(await alice.get(f"{path}/history?{query}"), 400, "invalid_request")


async def test_a_token_of_another_session_or_list_is_refused(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["x"] * 3)
    token = told(await alice.get(f"{path}/history?limit=1"))["older"]
    other = (await alice.make_session())["id"]
    for target in (f"/api/sessions/{other}/history", f"{path}/runs", f"{path}/inputs"):
        problem(await alice.get(f"{target}?next={token}"), 400, "invalid_request")


TEXT = "aé漢😀" * 40_000  # one to four bytes a character


async def content(caller: Caller, url: str) -> tuple[str, list[dict[str, Any]]]:
    """The whole text behind a reference, and its parts in order."""
    parts: list[dict[str, Any]] = []
    page = told(await caller.get(url))
    parts += page["parts"]
    while page["next"]:
        page = told(await caller.get(f"{url}?next={page['next']}"))
        parts += page["parts"]
    return "".join(part["text"] for part in parts), parts


@pytest.mark.parametrize("chunk_bytes", [4, 7, 1_021, 32_768, 262_144])
async def test_large_content_is_exact_whatever_its_chunks(
    alice: Caller, path: str, settings: Any, chunk_bytes: int
) -> None:
    text = TEXT if chunk_bytes > 1_000 else TEXT[:2_000]
    tuned = {"content_chunk_bytes": chunk_bytes, "inline_text_bytes": 100}
    settings.ALBEDO = {**settings.ALBEDO, **tuned}
    await read(add_texts, path.rsplit("/", 1)[1], [text])
    entry = told(await alice.get(f"{path}/history"))["items"][0]
    assert entry["content_complete"] is False
    reference = entry["content"][0]["reference"]
    assert reference["bytes"] == len(text.encode())
    whole, parts = await content(alice, reference["url"])
    assert whole == text
    offset = 0
    for part in parts:
        assert part["offset_bytes"] == offset
        offset += len(part["text"].encode())
        assert part["complete"] is (offset == reference["bytes"])


async def test_a_content_page_is_bounded(alice: Caller, path: str, settings: Any) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], [TEXT])
    url = told(await alice.get(f"{path}/history"))["items"][0]["content"][0]["reference"]["url"]
    page = told(await alice.get(url))
    assert 200_000 < sum(len(part["text"].encode()) for part in page["parts"]) <= 256 * 1024


async def test_small_fields_can_be_read_as_pages_too(alice: Caller, path: str, settings: Any) -> None:
    session_id = path.rsplit("/", 1)[1]
    run = await read(add_run, session_id)
    arguments = '{"code" : "1 +\\u0020 1 é"}'
    call = await read(add_call, session_id, run, arguments)
    part = {"kind": "json", "field": "arguments", "value": {"code": "1 +  1 é"}}
    entry = await read(add_call_entry, call, {}, [part])
    settings.ALBEDO = {**settings.ALBEDO, "content_page_bytes": 4}
    url = f"{path}/entries/{entry.id}/content/arguments"
    assert (await content(alice, url))[0] == arguments
    shown = told(await alice.get(f"{path}/entries/{entry.id}"))
    assert shown["content"] == [part]
    assert shown["tool"]["status"] == "requested"


async def test_large_arguments_are_read_from_their_own_entry(alice: Caller, path: str) -> None:
    session_id = path.rsplit("/", 1)[1]
    run = await read(add_run, session_id)
    arguments = '{"code": "' + "x" * 300_000 + '"}'
    call = await read(add_call, session_id, run, "")
    entry = await read(add_call_entry, call, {"arguments": arguments})
    assert (await content(alice, f"{path}/entries/{entry.id}/content/arguments"))[0] == arguments


async def test_fields_and_entries_that_are_not_there_are_not_found(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["x"])
    entry = told(await alice.get(f"{path}/history"))["items"][0]["id"]
    other = (await alice.make_session())["id"]
    for target in (
        f"{path}/entries/{entry}/content/result",
        f"{path}/entries/{entry}/content/echo",
        f"{path}/entries/{fresh()}/content/text",
        f"{path}/entries/x/content/text",
        f"/api/sessions/{other}/entries/{entry}/content/text",
        f"/api/sessions/{other}/entries/{entry}",
    ):
        problem(await alice.get(target), 404, "not_found")


async def test_a_content_page_costs_two_queries_at_any_offset(alice: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], [TEXT])

    def costs() -> set[int]:
        entry = Entry.objects.get()
        seen, token = set(), None
        while True:
            with CaptureQueriesContext(connection) as queries:
                page = content_page(entry.session_id, entry.id, "text", token)
            seen.add(len(queries))
            token = page["next"]
            if token is None:
                return seen

    assert await read(costs) == {2}


async def test_what_was_stored_oddly_is_still_answered(alice: Caller, path: str) -> None:
    session_id = path.rsplit("/", 1)[1]
    run = await read(add_run, session_id)
    call = await read(add_call, session_id, run, "{}")
    odd = {"n": 10**40, "text": "nul \x00 \ud800 \u2028"}
    await read(add_call_entry, call, {}, [{"kind": "json", "field": "arguments", "value": odd}])
    shown = told(await alice.get(f"{path}/history"))["items"][0]["content"][0]["value"]
    assert shown["n"] == 10**40
    assert shown["text"].startswith("nul \x00")


@given(text=st.text(max_size=200), limit=st.integers(4, 9))
@settings(max_examples=60, deadline=None)
def test_pieces_cut_on_characters_and_lose_nothing(text: str, limit: int) -> None:
    data = text.encode("utf-8", "replace").decode()
    cut = list(pieces(data, limit))
    assert b"".join(piece for _, piece in cut) == data.encode()
    assert all(len(piece) <= limit and piece.decode() for _, piece in cut)


async def test_a_session_that_lost_its_entries_reader_is_not_seen_by_others(bob: Caller, path: str) -> None:
    await read(add_texts, path.rsplit("/", 1)[1], ["mine"])
    assert await read(Session.objects.count) == 1
    problem(await bob.get(f"{path}/history"), 404, "not_found")
