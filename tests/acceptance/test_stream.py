"""One log, whoever reads it and however: pages, WebSocket and SSE, from any cursor, through any cut."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from websockets.sync.client import connect

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say, Think
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.common_server import no_session_stays, server
from tests.support.fold import comparable, fold
from tests.support.processes import wait_for
from tests.support.raw_model import RawModel
from tests.support.session import SessionClient, sse_batches

__all__ = ["no_session_stays", "server"]

CODE = "print('a'); print('é😀'); 6 * 7"


def conversation() -> list[Any]:
    async def broken(request: ScriptedRequest, out: Out) -> None:
        await out.json(500, {"error": {"message": "not now"}})

    return [
        broken,
        Reply(Think("hm", 1), Say("I will. " * 20, fragments=7), Call("python", {"code": CODE}, fragments=3)),
        Reply(Say("Done. Really.")),
        Reply(Say("More.")),
    ]


def recorded(session: SessionClient) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """The first snapshot, the events of two turns, and a snapshot after each batch of them."""
    later = []
    with session.follow() as follower:
        first = follower.batches[0]["snapshot"]
        for text in ("one", "two"):
            accepted = session.ask(text)
            follower.until_answered(accepted["id"])
            later.append(session.snapshot())
        events = [event for event in follower.events if event["type"] != "reset"]
    return first, events, later


def test_snapshot_and_events_give_the_later_snapshot_at_every_cut(model: MakeModel) -> None:
    session = model(*conversation()).session
    first, events, later = recorded(session)
    generation = first["cursor"]["generation"]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    seen = {event["type"] for event in events}
    assert seen >= {
        "status",
        "input",
        "text",
        "thinking",
        "message",
        "tool_progress",
        "tool_output",
        "tool",
        "retry",
        "usage",
        "turn_completed",
    }
    views = {0: first}
    for event in events:
        views[event["sequence"]] = fold(views[event["sequence"] - 1], generation, event)
    for snapshot in later:
        assert comparable(views[snapshot["cursor"]["sequence"]]) == comparable(snapshot)
    last = later[-1]
    for cut in range(0, len(events), 7):
        pages = session.pages((generation, cut))
        rest = [event for page in pages for event in page["events"]]
        assert rest == events[cut:]
        view = views[cut]
        for event in rest:
            view = fold(view, generation, event)
        assert comparable(view) == comparable(last)


def test_pages_sockets_and_sse_give_the_same_events_for_the_same_cursor(model: MakeModel) -> None:
    session = model(*conversation()).session
    first, events, _ = recorded(session)
    generation, newest = first["cursor"]["generation"], events[-1]["sequence"]
    for cut in (0, 1, newest // 2, newest - 1):
        expected = events[cut:]
        assert [event for page in session.pages((generation, cut)) for event in page["events"]] == expected
        with session.follow((generation, cut)) as follower:
            follower.until(lambda: follower.cursor[1] == newest, "the newest event")
            assert follower.events == expected
            assert follower.batches[0]["attach"]["verdict"] == "replay"
        by_sse: list[dict[str, Any]] = []
        for identity, batch in sse_batches(session, **{"Last-Event-ID": f"{generation}:{cut}"}):
            by_sse += batch["events"]
            assert identity == f"{batch['generation']}:{batch['cursor']}"
            if batch["cursor"] == newest:
                break
        assert by_sse == expected


def test_sse_tells_what_is_written_while_the_provider_is_silent(model: MakeModel, protocol: str) -> None:
    held = Barrier()

    async def slowly(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.text("so far")
        await out.pause(held)
        await raw.text(", and on")
        await raw.end()

    session = model(slowly).session
    stream = sse_batches(session)
    heard = [next(stream)[1]]
    session.ask("write")
    while not said(heard):
        heard.append(next(stream)[1])
    assert said(heard) == "so far"
    held.release.set()
    while said(heard) != "so far, and on":
        heard.append(next(stream)[1])
    stream.close()  # type: ignore[attr-defined]


def said(batches: list[dict[str, Any]]) -> str:
    events = [event for batch in batches for event in batch["events"]]
    return "".join(event["data"]["text"] for event in events if event["type"] == "text")


def test_the_newest_cursor_gets_an_empty_first_batch_at_once(model: MakeModel) -> None:
    session = model(Reply(Say("hello"))).session
    session.answer("hi")
    cursor = session.snapshot()["cursor"]
    with session.follow((cursor["generation"], cursor["sequence"])) as follower:
        assert follower.batches[0]["events"] == []
        assert follower.batches[0]["attach"]["verdict"] == "up_to_date"
        assert "snapshot" not in follower.batches[0]


@pytest.mark.parametrize(
    ("generation", "sequence", "reason"),
    [("9-deadbeef", 0, "generation_changed"), (None, 10_000, "replay_unavailable")],
)
def test_a_cursor_that_cannot_be_continued_is_reset_with_its_reason(
    model: MakeModel, generation: str | None, sequence: int, reason: str
) -> None:
    session = model(Reply(Say("hello"))).session
    session.answer("hi")
    now = session.snapshot()["cursor"]
    page = session.page((generation or now["generation"], sequence))
    assert page["events"][0] == {"type": "reset", "data": {"reason": reason}}
    assert page["attach"]["verdict"] == "reset"
    assert comparable(page["snapshot"]) == comparable(session.snapshot())


def test_who_attaches_late_sees_the_call_that_runs(model: MakeModel) -> None:
    wait = "while not os.path.exists('go'): time.sleep(0.02)"
    code = f"import os, time\nprint('begun', flush=True)\n{wait}"
    session = model(Reply(Say("Wait."), Call("python", {"code": code})), Reply(Say("done"))).session
    with session.follow() as follower:
        accepted = session.ask("run")
        follower.until(lambda: bool(follower.of("tool_output")), "the cell")
        running = next(item for item in follower.progress() if item and item["phase"] == "running")
        with session.follow(tail=1) as late:
            snapshot = late.batches[0]["snapshot"]
            assert snapshot["status"]["phase"] == "running"
            assert snapshot["current_progress"] == [running]
            assert [item["text"] for item in snapshot["current_output"]] == ["begun\n"]
            assert [item["kind"] for item in snapshot["history"]["items"]] == ["tool_call"]
            assert snapshot["history"]["older"] is not None
            workspace = snapshot["workspace"]
            with open(f"{workspace}/go", "w", encoding="ascii"):
                pass
            late.until_answered(accepted["id"])
            assert comparable(late.view)["status"] == comparable(session.snapshot())["status"]
        follower.until_answered(accepted["id"])


def test_subscribers_that_never_read_are_counted_and_cost_nothing_of_the_projection(
    model: MakeModel, protocol: str
) -> None:
    arguments = {"code": "# " + "😀é" * 2_000}
    calls = [Call("python", arguments, id=f"c{number}", fragments=200) for number in range(8)]
    held = Barrier()

    async def answer(request: ScriptedRequest, out: Out) -> None:
        frames = list(Reply(*calls).frames(request.protocol))
        for frame in frames[:-4]:
            await out.write(frame)
        await out.pause(held)

    session = model(answer).session
    with session.follow() as follower, ExitStack() as stack:
        session.ask("write")
        assert held.reached.wait_in_thread(60)
        follower.until(lambda: len({item["call_id"] for item in follower.progress() if item}) == 8, "8 calls")

        def inspected() -> dict[str, Any]:
            return dict(session.http.get(f"/api/inspect/sessions/{session.id}").json())

        wait_for(lambda: inspected()["watchers"] == 1, "one watcher")
        before = inspected()
        for _ in range(10):
            stack.enter_context(mute_subscriber(session))
        wait_for(lambda: inspected()["watchers"] == 11, "eleven watchers")
        crowded = inspected()
        assert crowded["projection_size"] == before["projection_size"] < 64 * 1024
        assert crowded["projection_bytes"] == before["projection_bytes"]
        stack.close()
        wait_for(lambda: inspected()["watchers"] == 1, "the others gone")
        session.interrupt()


def mute_subscriber(session: SessionClient) -> Any:
    """A WebSocket whose frames nobody takes from the socket."""
    url = f"{session.server.url.replace('http', 'ws', 1)}/ws/sessions/{session.id}"
    headers = {"Authorization": f"Bearer {session.token}"}
    return connect(url, additional_headers=headers, subprotocols=["albedo.v1"], open_timeout=60, proxy=None)  # type: ignore[list-item]
