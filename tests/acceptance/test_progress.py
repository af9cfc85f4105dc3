"""Calls while they are being written, on the real wire of both protocols."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.common_server import no_session_stays, server
from tests.support.fold import comparable
from tests.support.raw_model import RawModel, fragments, python_arguments
from tests.support.session import Follower

__all__ = ["no_session_stays", "server"]

ANSWER = Reply(Say("done"))


def window(code: str) -> dict[str, Any]:
    """What a preview of `code` must be: its last 512 scalars within 2,048 bytes."""
    text = code[-512:]
    while len(text.encode()) > 2048:
        text = text[1:]
    return {"offset_scalars": len(code) - len(text), "text": text}


def last_shown(follower: Follower, call_id: str) -> dict[str, Any] | None:
    shown = [item for item in follower.progress() if item and item["call_id"] == call_id]
    return shown[-1] if shown else None


def test_the_last_window_of_a_burst_is_published_without_another_event(
    model: MakeModel, protocol: str
) -> None:
    code = "# " + "".join(f"{number:06d} " for number in range(19_000)) + "\nprint('é😀')"
    arguments = python_arguments(code)
    assert len(arguments) > 128 * 1024
    held = Barrier()

    async def burst(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.call(0, "python", "call_1")
        for fragment in fragments(arguments, 64):
            await raw.arguments(0, fragment)
        await out.pause(held)
        await raw.end()

    made = model(burst, ANSWER)
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("write")
        follower.until(lambda: bool(follower.progress()), "the call")
        older = follower.cursor
        # A snapshot that is read while updates still wait takes none of them from anybody.
        session.page()
        follower.until(
            lambda: bool((shown := follower.progress()[-1]) and shown["preview"] == window(code)),
            "the last window, while the provider is silent",
        )
        replayed = [
            event["data"]["progress"]
            for page in session.pages(older)
            for event in page["events"]
            if event["type"] == "tool_progress"
        ]
        assert replayed[-1] == follower.progress()[-1]
        assert replayed[-1]["arguments_chars"] == len(arguments)
        held.release.set()
        follower.until_answered(accepted["id"])
        (tool,) = follower.of("tool")
        phases = [shown["phase"] for shown in follower.progress() if shown]
    assert phases.index("running") == len(phases) - 1
    assert tool["arguments"] is None
    assert tool["content_complete"] is False
    assert tool["reference"]["field"] == "arguments"
    assert tool["reference"]["bytes"] == len(arguments.encode())
    assert session.content(tool["reference"]["url"], "arguments") == arguments
    assert json.loads(tool["result"])["output"] == "é😀\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11])
def test_escapes_and_surrogate_pairs_cut_anywhere_leave_window_and_offset_exact(
    model: MakeModel, protocol: str, size: int
) -> None:
    code = "text = '''" + "ä\\\\n\n\t€😀" * 90 + "'''\nprint(len(text))"
    arguments = python_arguments(code)
    held = Barrier()

    async def cut(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.call(0, "python", "call_1")
        for fragment in fragments(arguments, size):
            await raw.arguments(0, fragment)
        await out.pause(held)
        await raw.end()

    made = model(cut, ANSWER)
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("write")
        follower.until(
            lambda: bool(
                follower.progress()
                and (shown := follower.progress()[-1])
                and shown.get("preview") == window(code)
            ),
            "the exact window",
        )
        assert session.snapshot()["current_progress"] == [follower.progress()[-1]]
        held.release.set()
        follower.until_answered(accepted["id"])
        shown = [item for item in follower.progress() if item]
        (tool,) = follower.of("tool")
    for item in shown:
        end = item["preview"]["offset_scalars"] + len(item["preview"]["text"])
        assert item["preview"] == window(code[:end])
    assert [item["phase"] for item in shown].count("running") == 1
    assert {item["call_id"] for item in shown} == {tool["progress_call_id"]}
    entries = session.history()
    (asked,) = [entry for entry in entries if entry["kind"] == "tool_call"]
    assert asked["content"][0]["value"] == {"code": code}


def test_files_with_accents_and_emoji_in_their_names_are_there(model: MakeModel) -> None:
    code = "open('über-😀.txt', 'w').write('x')\nimport os\nprint(sorted(os.listdir()))"
    made = model(Reply(Call("python", {"code": code}, fragments=3)), ANSWER)
    events = made.session.answer("write")
    (tool,) = [event["data"] for event in events if event["type"] == "tool"]
    assert "über-😀.txt" in json.loads(tool["result"])["output"]


def test_a_call_is_hidden_until_its_name_is_known_and_then_has_its_preview(
    model: MakeModel, protocol: str
) -> None:
    code = "print('named late')"
    nameless, named = Barrier(), Barrier()

    async def late(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.text("Here it comes.")
        await raw.call(0, None, None, python_arguments(code))
        await out.pause(nameless)
        await raw.name(0, "python", "call_late")
        await out.pause(named)
        await raw.end()

    session = model(late, ANSWER).session
    with session.follow() as follower:
        accepted = session.ask("write")
        assert nameless.reached.wait_in_thread(60)
        follower.until(lambda: bool(follower.of("text")), "the text before the call")
        assert session.snapshot()["current_progress"] == []
        assert follower.progress() == []
        nameless.release.set()
        follower.until(lambda: bool(follower.progress()), "the named call")
        first = follower.progress()[0]
        named.release.set()
        follower.until_answered(accepted["id"])
        (tool,) = follower.of("tool")
    assert first is not None
    assert (first["name"], first["phase"]) == ("python", "generating")
    assert first["preview"] == {"offset_scalars": 0, "text": code}
    assert first["call_id"] == tool["progress_call_id"]
    assert json.loads(tool["result"])["output"] == "named late\n"


def test_interleaved_calls_with_gaps_and_one_native_id_keep_their_identities(
    model: MakeModel, protocol: str
) -> None:
    codes = {1: "print('one')", 4: "print('four')", 9: "print('nine')"}

    async def interleaved(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        for index in codes:
            await raw.call(index, "python", "same" if index != 9 else "other")
        cut = {index: fragments(python_arguments(code), 5) for index, code in codes.items()}
        while any(cut.values()):
            for index, rest in cut.items():
                if rest:
                    await raw.arguments(index, rest.pop(0))
        await raw.end()

    made = model(interleaved, ANSWER)
    events = made.session.answer("write")
    tools = [event["data"] for event in events if event["type"] == "tool"]
    assert [tool["arguments"]["code"] for tool in tools] == list(codes.values())
    assert [json.loads(tool["result"])["output"] for tool in tools] == ["one\n", "four\n", "nine\n"]
    assert len({tool["tool_call_id"] for tool in tools}) == 3
    assert len({tool["progress_call_id"] for tool in tools}) == 3
    shown: dict[str, set[str]] = {}
    for event in events:
        if event["type"] == "tool_progress" and event["data"]["progress"]:
            item = event["data"]["progress"]
            shown.setdefault(item["call_id"], set()).add(item["phase"])
    assert shown == {tool["progress_call_id"]: {"generating", "running"} for tool in tools}
    sent = json.dumps(made.requests[-1].body)
    assert all(sent.count(tool["tool_call_id"]) == 2 for tool in tools)


def test_a_failed_attempt_is_gone_before_the_next_one_uses_its_index(model: MakeModel, protocol: str) -> None:
    held = Barrier()

    async def broken(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.text("lost words")
        await raw.call(0, "python", "call_x", '{"code": "print(')
        await out.pause(held)
        out.abort()

    made = model(broken, Reply(Say("kept"), Call("python", {"code": "print('once')"}, id="call_x")), ANSWER)
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("write")
        follower.until(lambda: bool(follower.progress()), "the first attempt's call")
        first = follower.progress()[0]
        held.release.set()
        follower.until_answered(accepted["id"])
        events = follower.events
        (retry,) = follower.of("retry")
        (tool,) = follower.of("tool")
        view = follower.view
    assert first is not None
    at = next(number for number, event in enumerate(events) if event["type"] == "retry")
    later = [event["data"]["progress"] for event in events[at:] if event["type"] == "tool_progress"]
    assert retry["attempt"] == 1
    assert {item["call_id"] for item in later if item} == {tool["progress_call_id"]}
    assert tool["progress_call_id"] != first["call_id"]
    assert json.loads(tool["result"])["output"] == "once\n"
    assert "lost words" not in json.dumps(session.history())
    assert comparable(view) == comparable(session.snapshot())


@pytest.mark.parametrize(
    "arguments",
    [
        '{"code": "print(1)", "deep": ' + "[" * 70 + "]" * 70 + "}",
        '{"co\\u0064e": "print(1)"}',
        '{"code": "print(0)", "code": "print(1)"}',
    ],
    ids=["nested", "escaped key", "repeated key"],
)
def test_odd_arguments_lose_their_preview_and_run_all_the_same(model: MakeModel, arguments: str) -> None:
    made = model(Reply(Call("python", arguments, fragments=3)), ANSWER)
    events = made.session.answer("write")
    (tool,) = [event["data"] for event in events if event["type"] == "tool"]
    shown = [event["data"]["progress"] for event in events if event["type"] == "tool_progress"]
    assert json.loads(tool["result"])["output"] == "1\n"
    assert shown
    assert "preview" not in [item for item in shown if item][-1]


def test_a_native_id_over_200_bytes_is_null_in_progress_and_whole_in_the_result(model: MakeModel) -> None:
    native = "id-" + "é" * 120
    made = model(Reply(Call("python", {"code": "print(1)"}, id=native)), ANSWER)
    events = made.session.answer("write")
    (tool,) = [event["data"] for event in events if event["type"] == "tool"]
    shown = [event["data"]["progress"] for event in events if event["type"] == "tool_progress"]
    assert {item["tool_call_id"] for item in shown if item} == {None}
    assert tool["tool_call_id"] == native
    asked = [entry for entry in made.session.history() if entry["kind"] == "tool_call"]
    assert asked[0]["tool"]["tool_call_id"] == native


def test_33_calls_clear_the_progress_and_all_run_in_order(model: MakeModel) -> None:
    calls = [Call("python", {"code": f"print({number})"}, id=f"call_{number}") for number in range(33)]
    made = model(Reply(*calls), ANSWER)
    events = made.session.answer("write")
    tools = [event["data"] for event in events if event["type"] == "tool"]
    assert [json.loads(tool["result"])["output"] for tool in tools] == [f"{n}\n" for n in range(33)]
    progress = [event["data"]["progress"] for event in events if event["type"] == "tool_progress"]
    cleared = progress.index(None)
    assert {item["phase"] for item in progress[cleared:] if item} == {"running"}
    running = [item["call_id"] for item in progress if item and item["phase"] == "running"]
    assert running == [tool["progress_call_id"] for tool in tools]
