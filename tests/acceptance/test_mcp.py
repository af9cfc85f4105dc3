"""Tools of real MCP servers in a session of the real server: offered, called, stopped, and gone with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import MakeModel, define_profile
from tests.support.common_server import PATIENT, no_session_stays, server
from tests.support.mcp_process import is_gone, noted, over_http, stdio
from tests.support.processes import wait_for
from tests.support.server import ServerProcess, StartServer
from tests.support.session import SessionClient

__all__ = ["no_session_stays", "server"]


def named(request: Any) -> list[str]:
    """The tools that a request declares."""
    return [tool.get("name") or tool["function"]["name"] for tool in request.body["tools"]]


def test_a_session_s_server_over_stdio_is_called_like_any_other_tool(
    server: ServerProcess, model: MakeModel, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    made = model(
        Reply(Call("tests__add", {"a": 2, "b": 3}, id="call_a", fragments=2)),
        Reply(Call("tests__big", {"chars": 100_000}, id="call_b")),
        Reply(Call("tests__add", {"a": "many"}, id="call_c")),
        Reply(Call("python", {"code": "print(6 * 7)"}, id="call_d")),
        Reply(Say("done")),
    )
    described = stdio("tests", NOTES=str(notes))
    answer = made.session.http.patch(made.session.path, json={"mcp_servers": [described]})
    assert answer.json()["mcp_servers"][0]["env"] == {"NOTES": {"has_value": True}}
    with made.session.follow() as follower:
        follower.until_answered(made.session.ask("Add.")["id"])
        added, big, unfit, python = follower.of("tool")
        phases = [shown["phase"] for shown in follower.progress() if shown and shown["name"] == "tests__add"]
    assert {"python", "tests__add", "tests__slow"} <= set(named(made.requests[0]))
    assert (added["status"], added["result"], added["arguments"]) == ("ok", "5", {"a": 2, "b": 3})
    assert noted(notes, "(add 2 3)") == ["add 2 3"]
    assert phases[0] == "generating"
    assert "running" in phases
    assert big["content_complete"] is False
    shown = made.session.content(big["reference"]["url"], big["reference"]["field"])
    assert "characters left out" in shown or shown == "é" * 100_000
    assert unfit["status"] == "error"
    assert json.loads(python["result"])["output"] == "42\n"
    assert made.session.history()[-1]["content"] == [{"kind": "text", "text": "done"}]


def test_its_arguments_are_bounded_as_they_arrive(
    server: ServerProcess, model: MakeModel, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    made = model(
        Reply(Call("tests__add", {"a": 1, "b": 2, "more": "xy" * 10_000}, id="call_a", fragments=1_000)),
        Reply(Say("shorter")),
    )
    described = stdio("tests", NOTES=str(notes))
    made.session.http.patch(made.session.path, json={"mcp_servers": [described]}).raise_for_status()
    made.session.answer("Add.")
    first, second = made.session.get("/attempts")["items"]
    assert (first["outcome"], second["outcome"]) == ("failed", "completed")
    guard = first["stream_guard"]
    assert (guard["kind"], guard["tool"], guard["limit"]) == ("limit", "tests__add", 16_384)
    assert noted(notes, "(add .*)") == []


def test_a_stop_and_a_death_leave_the_session_able_to_go_on(server: ServerProcess, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    scripts = [
        Reply(Call("far__slow", {"seconds": 600}, id="call_a")),
        Reply(Call("far__add", {"a": 1, "b": 2}, id="call_b")),
        Reply(Say("it is away")),
    ]
    with ScriptedThread(scripts) as provider, over_http(tmp_path, NOTES=str(notes)) as (url, process):
        far = {"name": "far", "transport": "http", "url": url, "headers": {"Authorization": "Bearer canary"}}
        profile = define_profile(server, provider.base_url, "responses", mcp_servers=[far])
        session = SessionClient.create(server, provider=profile)
        with session.follow() as follower:
            asked = session.ask("Sleep.")
            wait_for(lambda: bool(noted(notes, "(slow began)")), "the call began")
            session.interrupt()
            follower.until_answered(asked["id"])
            (stopped,) = follower.of("tool")
            assert stopped["status"] == "interrupted"
            wait_for(lambda: bool(noted(notes, "(slow cancelled)")), "the MCP server was told")
            process.kill()
            process.wait()
            follower.until_answered(session.ask("Add.")["id"])
            _, refused = follower.of("tool")
            (note,) = [data for data in follower.of("note") if data["code"] == "mcp_unavailable"]
    assert refused["status"] == "error"
    assert "the MCP server 'far' is not available" in refused["result"]
    assert "'far'" in note["text"]
    assert not any(name.startswith("far__") for name in named(provider.requests[-1]))
    assert "canary" not in json.dumps([session.snapshot(), session.history(), follower.events])


def test_a_stop_does_not_wait_for_a_server_that_does_not_start(
    server: ServerProcess, model: MakeModel, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    made = model(Reply(Say("without it")))
    described = stdio("deaf", "--deaf", NOTES=str(notes))
    made.session.http.patch(made.session.path, json={"mcp_servers": [described]}).raise_for_status()
    with made.session.follow() as follower:
        asked = made.session.ask("Hello?")
        wait_for(lambda: bool(noted(notes, r"pid (\d+)")), "the MCP server is being started")
        made.session.interrupt()
        follower.until_answered(asked["id"])
        (ended,) = follower.of("turn_completed")
    assert ended["outcome"] == "interrupted"
    assert made.requests == []
    made.session.http.patch(made.session.path, json={"mcp_servers": []}).raise_for_status()
    made.session.answer("Hello again?")
    (pid,) = noted(notes, r"pid (\d+)")
    wait_for(lambda: is_gone(pid), "the server that is configured no more ends")


def test_its_processes_end_with_a_server_that_is_killed(
    start_server: StartServer, model_on: MakeModel, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    server = start_server(**PATIENT)
    made = model_on(
        server, "responses", Reply(Call("tests__leave_behind", {}, id="call_a")), Reply(Say("done"))
    )
    described = stdio("tests", NOTES=str(notes))
    made.session.http.patch(made.session.path, json={"mcp_servers": [described]}).raise_for_status()
    made.session.answer("Start something.")
    (pid,), (left,) = noted(notes, r"pid (\d+)"), noted(notes, r"left (\d+)")
    assert not is_gone(pid)
    assert not is_gone(left)
    server.kill9()
    wait_for(lambda: is_gone(pid) and is_gone(left), "nothing of it is left")
