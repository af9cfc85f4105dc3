"""Crashes, of the server and of one actor: what was accepted is kept; what ran is lost, and said so."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import httpx
import pytest
from uuid_utils.compat import uuid7

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel, define_profile
from tests.support.fold import comparable
from tests.support.processes import wait_for
from tests.support.raw_model import RawModel
from tests.support.server import ServerProcess, StartServer
from tests.support.session import SessionClient


@pytest.fixture
def mortal(server: ServerProcess) -> ServerProcess:
    """The module's server for a test that kills it, and starts it again."""
    return server if server.alive() else server.start()


def restart_actor(session: SessionClient) -> None:
    answer = session.http.post(f"/api/inspect/sessions/{session.id}/restart")
    assert answer.status_code in (200, 202, 204), answer.text


def test_an_actor_replaced_in_mid_call_leaves_a_lost_call_and_a_new_generation(
    model: MakeModel, protocol: str
) -> None:
    code = "import time\nopen('started', 'a').write('x')\nprint('begun', flush=True)\ntime.sleep(1000)"
    made = model(Reply(Call("python", {"code": code}, id="call_a")), Reply(Say("next")))
    session = made.session
    with session.follow() as follower:
        session.ask("run")
        follower.until(lambda: bool(follower.of("tool_output")), "the cell")
        before = follower.cursor
        restart_actor(session)
        follower.until(lambda: bool(follower.of("reset")[1:]), "the reset")
        assert follower.of("reset")[1] == {"reason": "generation_changed"}
        fresh = follower.view
        assert fresh is not None
        assert fresh["cursor"]["generation"] != before[0]
        assert (fresh["current_progress"], fresh["current_message"]) == ([], None)
        second = session.ask("go on")
        follower.until_answered(second["id"])
        assert follower.of("tool") == [] or follower.of("tool")[-1]["status"] != "ok"
    page = session.page(before)
    assert page["attach"]["verdict"] == "reset"
    assert page["events"][0]["data"] == {"reason": "generation_changed"}
    entries = session.history()
    assert [entry["kind"] for entry in entries] == ["user", "tool_call", "tool_result", "user", "assistant"]
    assert entries[2]["tool"]["status"] == "lost"
    assert session.get("/runs")["items"][0]["state"] == "abandoned"
    workspace = Path(session.snapshot()["workspace"])
    assert (workspace / "started").read_text() == "x"
    sent = json.dumps(made.requests[1].body)
    assert sent.count("call_a") == 2


def test_a_call_half_written_when_its_actor_is_replaced_never_runs(model: MakeModel, protocol: str) -> None:
    held = Barrier()

    async def half(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.call(0, "python", "call_1", "{\"code\": \"open('ran', 'w').close()\"}")
        await out.pause(held)
        await raw.end()

    session = model(half, Reply(Say("next"))).session
    with session.follow() as follower:
        session.ask("write")
        follower.until(lambda: bool(follower.progress()), "the call")
        restart_actor(session)
        follower.until(lambda: bool(follower.of("reset")[1:]), "the reset")
        held.release.set()
        second = session.ask("go on")
        follower.until_answered(second["id"])
        assert comparable(follower.view) == comparable(session.snapshot())
    assert [entry["kind"] for entry in session.history()] == ["user", "user", "assistant"]
    assert not (Path(session.snapshot()["workspace"]) / "ran").exists()


def test_inputs_accepted_before_a_kill_are_answered_in_order_and_the_running_call_is_lost(
    mortal: ServerProcess,
) -> None:
    code = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"
    replies = [Reply(Call("python", {"code": code}))] + [Reply(Say(f"answer {n}")) for n in range(3)]
    with ScriptedThread(replies) as provider:
        profile = define_profile(mortal, provider.base_url, "responses")
        session = SessionClient.create(mortal, provider=profile)
        with session.follow() as follower:
            session.ask("run")
            follower.until(lambda: bool(follower.of("tool_output")), "the cell")
            pid = int(follower.of("tool_output")[0]["text"])
        waiting = [session.ask(f"question {number}") for number in range(3)]
        mortal.kill9()
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of the kernel")
        mortal.start()
        session = SessionClient(mortal, session.id)
        with session.follow() as follower:
            follower.until(lambda: follower.idle, "rest")
    kinds = [(entry["kind"], entry["content"][0].get("text")) for entry in session.history()]
    assert kinds[:3] == [("user", "run"), ("tool_call", None), ("tool_result", None)]
    assert kinds[3:] == [
        pair
        for number in range(3)
        for pair in (("user", f"question {number}"), ("assistant", f"answer {number}"))
    ]
    states = [session.get(f"/inputs/{item['id']}")["state"] for item in waiting]
    assert states == ["committed"] * 3
    runs = [run["state"] for run in session.get("/runs")["items"]]
    assert runs == ["abandoned", "completed", "completed", "completed"]
    (lost,) = [entry for entry in session.history() if entry["kind"] == "tool_result"]
    assert lost["tool"]["status"] == "lost"


def test_sigterm_lets_the_step_end_and_leaves_nothing_open(mortal: ServerProcess) -> None:
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)
        await Reply(Call("python", {"code": "open('ran', 'w').close()"}))(request, out)

    with ScriptedThread([slow, Reply(Say("after"))]) as provider:
        profile = define_profile(mortal, provider.base_url, "responses")
        session = SessionClient.create(mortal, provider=profile)
        with session.follow() as follower:
            session.ask("write")
            assert held.reached.wait_in_thread(60)
            os.kill(mortal.pid, 15)
            held.release.set()
            follower.until(lambda: follower.close_code is not None, "the close")
            assert follower.close_code == 1012
        assert mortal.process.wait(60) == 0
        mortal.start()
        session = SessionClient(mortal, session.id)
        assert session.snapshot()["status"]["phase"] == "idle"
        entries = session.history()
        assert [entry["kind"] for entry in entries] == ["user", "tool_call", "tool_result"]
        assert entries[2]["tool"]["status"] == "interrupted"
        assert session.get("/runs")["items"][0]["state"] == "interrupted"
        assert not (Path(session.snapshot()["workspace"]) / "ran").exists()
        session.answer("go on")
        assert session.history()[-1]["kind"] == "assistant"


def test_the_newest_cursor_of_a_session_at_rest_is_up_to_date_after_a_restart(
    mortal: ServerProcess,
) -> None:
    session = SessionClient.create(mortal)
    with session.follow() as follower:
        newest = follower.cursor
    mortal.restart()
    session = SessionClient(mortal, session.id)
    page = session.page(newest)
    assert page["attach"]["verdict"] == "up_to_date"
    assert page["events"] == []
    answer = session.http.get(f"/api/inspect/sessions/{session.id}")
    assert answer.status_code == 404 or answer.json()["generation"] is None


def test_the_same_input_sent_again_after_a_crash_is_the_same_input(mortal: ServerProcess) -> None:
    with ScriptedThread(Reply(Say("heard"))) as provider:
        profile = define_profile(mortal, provider.base_url, "responses")
        session = SessionClient.create(mortal, provider=profile)
        uid = str(uuid7())
        first = session.http.put(f"{session.path}/inputs/{uid}", json={"text": "once"})
        assert first.status_code == 202
        mortal.restart(crash=True)
        session = SessionClient(mortal, session.id)
        again = session.http.put(f"{session.path}/inputs/{uid}", json={"text": "once"})
        assert (again.status_code, again.json()["order"]) == (202, first.json()["order"])
        other = session.http.put(f"{session.path}/inputs/{uid}", json={"text": "twice"})
        assert (other.status_code, other.json()["code"]) == (409, "input_conflict")
        with session.follow() as follower:
            follower.until(lambda: follower.idle, "rest")
    assert [entry["kind"] for entry in session.history()].count("user") == 1


def test_a_second_server_on_the_same_data_refuses_to_start(
    mortal: ServerProcess, make_server: StartServer
) -> None:
    second = make_server(mortal.data_dir)
    facts = (mortal.data_dir / "server.json").read_text()
    with pytest.raises(AssertionError, match="Another server is running"):
        second.start()
    assert httpx.get(f"{mortal.url}/api/health", trust_env=False).status_code == 200
    assert facts


@pytest.mark.embedded(reason="it locks SQLite's file")
def test_a_database_that_another_program_holds_costs_a_wait_and_no_run(start_server: StartServer) -> None:
    server = start_server(ALBEDO_ACTOR_SELF_FENCE_SECONDS="0.4", ALBEDO_ACTOR_RENEW_SECONDS="0.2")
    code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)"
    with ScriptedThread([Reply(Call("python", {"code": code})), Reply(Say("done"))]) as provider:
        profile = define_profile(server, provider.base_url, "responses")
        session = SessionClient.create(server, provider=profile)
        workspace = Path(session.snapshot()["workspace"])
        with session.follow() as follower:
            accepted = session.ask("run")
            follower.until(lambda: bool(follower.of("tool_output")), "the cell")
            holder = sqlite3.connect(server.data_dir / "albedo.sqlite3", isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            (workspace / "go").touch()
            # Each round takes longer than half the time after which a host that is not alone gives up.
            wait_for(lambda: server.output().count("leases were not renewed") >= 4, "missed renewals")
            holder.rollback()
            holder.close()
            follower.until_answered(accepted["id"])
            assert [data["outcome"] for data in follower.of("turn_completed")] == ["completed"]
            assert [data["status"] for data in follower.of("tool")] == ["ok"]
            assert len(follower.of("reset")) == 1


def test_a_kernel_that_rests_is_ended_and_the_next_call_gets_a_fresh_one(
    start_server: StartServer, model_on: MakeModel
) -> None:
    server = start_server(ALBEDO_KERNEL_IDLE_SECONDS="1")
    code = "import os\nprint(os.getpid())"
    calls = [Reply(Call("python", {"code": code}, id=name)) for name in ("call_a", "call_b")]
    made = model_on(server, "responses", calls[0], Reply(Say("one")), calls[1], Reply(Say("two")))
    session = made.session
    with session.follow() as follower:
        first = session.ask("one")
        follower.until_answered(first["id"])
        follower.until(lambda: bool(follower.of("note")), "the note")
        assert follower.of("note")[0]["code"] == "kernel_culled"
        second = session.ask("two")
        follower.until_answered(second["id"])
        pids = [int(json.loads(data["result"])["output"]) for data in follower.of("tool")]
    assert pids[0] != pids[1]
    wait_for(lambda: not Path(f"/proc/{pids[0]}").exists(), "the end of the first kernel")
