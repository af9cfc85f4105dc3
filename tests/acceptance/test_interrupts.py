"""Stop means stop: while arguments are written, a cell runs, a retry waits; and it can be proved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.common_server import no_session_stays, server
from tests.support.leaping_manage import LEAP_SECONDS
from tests.support.modes import Leaping, Servers
from tests.support.raw_model import RawModel
from tests.support.server import ServerProcess
from tests.support.session import Follower, SessionClient

__all__ = ["no_session_stays", "server"]

CELLS = {
    "busy loop": "print('begun', flush=True)\nwhile True: pass",
    "sleep": "import time\nprint('begun', flush=True)\ntime.sleep(1000)",
    "async sleep": "import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(1000)",
    "ignored SIGINT": (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\n"
        "while True: time.sleep(0.1)"
    ),
    "swallowed interrupt": (
        "print('begun', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except: pass"
    ),
}

# A signal that hits the handler itself ends even the loop that swallows all others.
EXPECTED_KERNEL = {"ignored SIGINT": {"restarted"}, "swallowed interrupt": {"restarted", "idle"}}


@pytest.fixture(scope="module")
def leaping(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leaping]:
    """With little patience for a cell that is to stop."""
    data = tmp_path_factory.mktemp("leaping") / "data"
    with servers.make_leaping(data, ALBEDO_KERNEL_INTERRUPT_GRACE_SECONDS="0.5") as running:
        yield running


def running(follower: Follower) -> bool:
    return any("begun" in data["text"] for data in follower.of("tool_output"))


def stop(session: SessionClient, follower: Follower, accepted: dict[str, Any]) -> dict[str, Any]:
    """Interrupt, wait for the end, and return the run as it is told afterwards."""
    answer = session.interrupt()
    assert answer["state"] == "requested"
    follower.until_answered(accepted["id"])
    run = session.get(f"/runs/{answer['run_id']}")
    assert run["state"] == "interrupted"
    assert run["interrupt"]["requested_at"] <= run["interrupt"]["settled_at"]
    assert run["interrupt"]["by"] == "operator"
    return dict(run)


def test_a_stop_while_arguments_are_written_clears_them_and_nothing_runs(
    model: MakeModel, protocol: str
) -> None:
    never = Barrier()

    async def half(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.text("Writing")
        await raw.call(0, "python", "call_1", "{\"code\": \"open('ran', 'w').close()")
        await out.pause(never)

    made = model(half, Reply(Say("still here")))
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("write")
        follower.until(lambda: bool(follower.progress()), "the call")
        run = stop(session, follower, accepted)
        assert follower.progress()[-1] is None
        assert follower.of("tool") == []
        assert [data["outcome"] for data in follower.of("turn_completed")] == ["interrupted"]
        phases = [data["phase"] for data in follower.of("status")]
        assert phases[-2:] == ["interrupting", "idle"]
        second = session.ask("and now?")
        follower.until_answered(second["id"])
    assert run["interrupt"]["provider_closed_at"] is not None
    assert session.snapshot()["current_progress"] == []
    kinds = [entry["kind"] for entry in session.history()]
    assert kinds == ["user", "user", "assistant"]
    (attempt, _) = session.get("/attempts")["items"]
    assert (attempt["outcome"], attempt["cancel_reason"]) == ("cancelled", "user_stop")
    assert attempt["cancel_phase"] == "generating_tool_arguments"
    assert attempt["cancel_observed_at"] <= attempt["ended_at"]


@pytest.mark.parametrize("kind", CELLS)
def test_a_stop_ends_a_cell_whatever_it_does(
    server: ServerProcess, leaping: ServerProcess, model_on: MakeModel, kind: str
) -> None:
    # What must be killed is killed soon there; what need not be has all its time here.
    made = model_on(
        leaping if kind in EXPECTED_KERNEL else server,
        "responses",
        Reply(
            Call("python", {"code": CELLS[kind]}, id="call_a"),
            Call("python", {"code": "open('ran', 'w').close()"}, id="call_b"),
        ),
        Reply(Call("python", {"code": "import os\nprint(os.path.exists('ran'))"}, id="call_c")),
        Reply(Say("done")),
    )
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("run")
        follower.until(lambda: running(follower), "the cell")
        run = stop(session, follower, accepted)
        statuses = [data["status"] for data in follower.of("tool")]
        second = session.ask("go on")
        follower.until_answered(second["id"])
        last = follower.of("tool")[-1]
    assert statuses == ["interrupted", "interrupted"]
    assert run["interrupt"]["tool_interrupted_at"] is not None
    assert run["interrupt"]["kernel"] in EXPECTED_KERNEL.get(kind, {"idle"})
    assert json.loads(last["result"])["output"] == "False\n"
    # What goes back is well formed: each call has its result.
    sent = json.dumps(made.requests[1].body)
    assert sent.count("call_a") == sent.count("call_b") == 2


def test_a_stop_during_the_wait_for_a_retry_is_told_as_such(model: MakeModel) -> None:
    async def busy(request: ScriptedRequest, out: Out) -> None:
        await out.json(429, {"error": {"message": "slow down"}}, {"Retry-After": "100"})

    made = model(busy, Reply(Say("second")))
    session = made.session
    with session.follow() as follower:
        accepted = session.ask("try")
        follower.until(lambda: bool(follower.of("retry")), "the retry")
        stop(session, follower, accepted)
        (retry,) = follower.of("retry")
    (attempt,) = session.get("/attempts")["items"]
    assert retry["delay_ms"] >= 100_000
    assert (attempt["phase"], attempt["cancel_phase"]) == ("retry_wait", "retry_wait")
    assert attempt["cancel_reason"] == "user_stop"


def test_an_interrupt_is_of_one_run_and_of_inputs_up_to_an_order(model: MakeModel) -> None:
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)
        await Reply(Say("first"))(request, out)

    made = model(slow, Reply(Say("third")))
    session = made.session
    with session.follow() as follower:
        first = session.ask("first")
        # A run that is stopped before it asks would leave this answer to the next one.
        assert held.reached.wait_in_thread(60)
        follower.until(lambda: bool(follower.view and follower.view["status"]["run_id"]), "the run")
        second = session.ask("second")
        snapshot = session.snapshot()
        third = session.ask("third")
        answer = session.interrupt(snapshot)
        follower.until_answered(third["id"])
        told = {data["input"]["id"]: data["input"]["state"] for data in follower.of("input")}
    assert answer["cancelled_input_ids"] == [second["id"]]
    assert told == {first["id"]: "committed", second["id"]: "cancelled", third["id"]: "committed"}
    assert session.interrupt(snapshot)["state"] == "already_ended"
    runs = session.get("/runs")["items"]
    assert [run["state"] for run in runs] == ["interrupted", "completed"]


def test_an_input_may_interrupt_the_run_before_it(model: MakeModel) -> None:
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)

    session = model(slow, Reply(Say("now this"))).session
    with session.follow() as follower:
        session.ask("first")
        assert held.reached.wait_in_thread(60)
        urgent = session.ask("stop that", when_busy="interrupt")
        follower.until_answered(urgent["id"])
    (first, _) = session.get("/attempts")["items"]
    assert (first["outcome"], first["cancel_reason"]) == ("cancelled", "superseded")
    outcomes = [run["state"] for run in session.get("/runs")["items"]]
    assert outcomes == ["interrupted", "completed"]


def test_a_steering_input_joins_the_run_before_its_next_step(model: MakeModel) -> None:
    held = Barrier()

    async def call(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)
        await Reply(Call("python", {"code": "print(1)"}))(request, out)

    made = model(call, Reply(Say("both")))
    session = made.session
    with session.follow() as follower:
        first = session.ask("first")
        assert held.reached.wait_in_thread(60)
        steer = session.ask("and also", when_busy="steer")
        held.release.set()
        follower.until_answered(first["id"])
        (ended,) = follower.of("turn_completed")
    assert ended["input_ids"] == [first["id"], steer["id"]]
    assert "and also" in json.dumps(made.requests[1].body)


def test_a_busy_session_refuses_where_it_is_asked_to(model: MakeModel) -> None:
    held = Barrier()

    async def slow(request: ScriptedRequest, out: Out) -> None:
        await out.pause(held)
        await Reply(Say("done"))(request, out)

    session = model(slow).session
    with session.follow() as follower:
        first = session.ask("first")
        assert held.reached.wait_in_thread(60)
        body = {"text": "no", "when_busy": "reject"}
        refused = session.http.post(f"{session.path}/inputs", json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "session_busy")
        held.release.set()
        follower.until_answered(first["id"])
    assert len(session.history()) == 2


@pytest.mark.parametrize("where", ["provider", "tool", "retry wait"])
def test_a_run_over_its_deadline_fails_wherever_it_is(
    leaping: Leaping, model_on: MakeModel, where: str
) -> None:
    never = Barrier()

    async def provider(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, request.protocol)
        await raw.begin()
        await raw.text("Well,")
        await out.pause(never)

    async def refuse(request: ScriptedRequest, out: Out) -> None:
        await out.json(429, {"error": {"message": "slow down"}}, {"Retry-After": "119"})

    script = {"provider": provider, "tool": Reply(Call("python", {"code": CELLS["sleep"]}))}.get(
        where, refuse
    )
    session = model_on(leaping, "responses", script, Reply(Say("next")), run_timeout=LEAP_SECONDS).session
    with session.follow() as follower:
        accepted = session.ask("try")
        # Seen by a client, it was read: the wait for more has begun, with what is left of the deadline.
        follower.until(lambda: where != "provider" or bool(follower.of("text")), "the text")
        follower.until(lambda: where != "tool" or running(follower), "the cell")
        follower.until(lambda: where != "retry wait" or bool(follower.of("retry")), "the retry")
        leaping.leap()
        follower.until_answered(accepted["id"])
    (run,) = session.get("/runs")["items"]
    assert (run["state"], run["error"]["code"]) == ("failed", "run_timeout")
    assert run["interrupt"] is None
    (attempt,) = session.get("/attempts")["items"]
    expected = ("completed", None) if where == "tool" else ("cancelled", "run")
    assert (attempt["outcome"], attempt["timeout_scope"]) == expected
    session.answer("and again")
    assert session.history()[-1]["kind"] == "assistant"
