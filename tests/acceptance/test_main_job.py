"""The main job through real sockets: a task, a call being written, running, its result, the answer."""

from __future__ import annotations

import json

from streaming.providers.scripted import Reply
from streaming.providers.scripted_parts import Call, Say, Think
from tests.acceptance.conftest import MakeModel
from tests.support.common_server import no_session_stays, server
from tests.support.fold import comparable

__all__ = ["no_session_stays", "server"]


def test_a_call_is_seen_written_running_and_ended_under_one_identity(model: MakeModel) -> None:
    code = "x = 20\nprint('working')\nx + 1"
    made = model(
        Reply(Think("How?"), Say("I will compute."), Call("python", {"code": code}, fragments=4)),
        Reply(Say("It is 21.", fragments=3)),
    )
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("What is it?")
        follower.until_answered(accepted["id"])
        kinds = [event["type"] for event in follower.events]
        (tool,) = follower.of("tool")
        phases = [shown["phase"] for shown in follower.progress() if shown]
        ids = {shown["call_id"] for shown in follower.progress() if shown}
        view = follower.view
    assert phases[-1] == "running"
    assert phases.count("running") == 1
    assert "generating" in phases
    assert ids == {tool["progress_call_id"]}
    assert tool["arguments"] == {"code": code}
    result = json.loads(tool["result"])
    assert (result["status"], result["output"]) == ("ok", "working\n21\n")
    assert kinds.index("tool") > kinds.index("tool_progress")
    assert comparable(view) == comparable(session.snapshot())
    entries = session.history()
    assert [entry["kind"] for entry in entries] == [
        "user",
        "thinking",
        "assistant",
        "tool_call",
        "tool_result",
        "assistant",
    ]
    assert entries[-1]["content"] == [{"kind": "text", "text": "It is 21."}]


def test_the_kernel_keeps_its_state_from_run_to_run(model: MakeModel) -> None:
    made = model(
        Reply(Call("python", {"code": "kept = 7"}, id="call_a")),
        Reply(Say("kept")),
        Reply(Call("python", {"code": "print(kept * 6)"}, id="call_b")),
        Reply(Say("done")),
    )
    made.session.answer("keep")
    made.session.answer("use")
    results = [entry for entry in made.session.history() if entry["kind"] == "tool_result"]
    assert json.loads(results[1]["content"][0]["value"])["output"] == "42\n"


def test_what_goes_back_to_the_provider_is_the_whole_history(model: MakeModel) -> None:
    made = model(
        Reply(Call("python", {"code": "print('é')"}, id="call_a")),
        Reply(Say("first")),
        Reply(Say("second")),
    )
    made.session.answer("one")
    made.session.answer("two")
    (run, _) = made.session.get("/runs")["items"]
    assert (run["provider"], run["model"], run["steps"]) == (made.profile, "scripted", 2)
    last = json.dumps(made.requests[-1].body, ensure_ascii=False)
    for expected in ("one", "call_a", "first", "two"):
        assert expected in last
