"""`make run-distributed`: the main job through nginx, who comes back when killed, what is left at the end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
from collections.abc import Awaitable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import MakeModel, define_profile
from tests.support.distributed import PATIENT, DistributedProcess, descendants, needs_nginx, wait_gone
from tests.support.fold import comparable
from tests.support.processes import accepts, end, wait_for
from tests.support.server import PROJECT
from tests.support.services import postgres_programs
from tests.support.session import SessionClient, sse_batches

pytestmark = pytest.mark.timeout(300)
JSON = {"Content-Type": "application/json"}
SLEEPER = "print('begun', flush=True)\nimport time\ntime.sleep(1000)"
LINK = re.compile(r"Albedo is ready\. Open (\S+)")


@pytest.fixture(scope="module")
def whole(distributed: DistributedProcess) -> DistributedProcess:
    return distributed


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    """One on a PostgreSQL of its own, as somebody without configuration has it. It may be ended."""
    needs_nginx()
    postgres_programs()
    data_dir = tmp_path_factory.mktemp("own") / "data"
    made = DistributedProcess(data_dir, WEBS="1", HOSTS="1", ALBEDO_ACTOR_DRAIN_SECONDS="2", **PATIENT)
    yield made
    made.close()


def test_the_tests_start_what_make_starts() -> None:
    told = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "run-distributed", "PORT=0", "DATA_DIR=/d"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    recipe = shlex.split(told.stdout.splitlines()[-1])
    tried = DistributedProcess(Path("/d")).command()
    assert recipe[:1] + recipe[2:] == ["exec", *(part.replace("/d", "$DATA_DIR") for part in tried[1:])]


def test_the_main_job_is_seen_alike_over_both_transports_through_nginx(
    whole: DistributedProcess, model_on: MakeModel
) -> None:
    made = model_on(
        whole,
        "responses",
        Reply(Say("I will compute."), Call("python", {"code": "print('working')\n6 * 7"}, fragments=4)),
        Reply(Say("It is 42.", fragments=3)),
    )
    session = made.session
    stream = sse_batches(session)
    heard = [next(stream)[1]]
    with session.follow() as follower:
        accepted = session.ask("What is it?")
        follower.until_answered(accepted["id"])
        (tool,) = follower.of("tool")
        view, end = follower.view, follower.cursor
        told = [event for event in follower.events if event["type"] != "reset"]
    while heard[-1]["cursor"] < end[1]:
        heard.append(next(stream)[1])
    stream.close()  # type: ignore[attr-defined]
    events = [event for batch in heard for event in batch["events"] if event["type"] != "reset"]
    assert [event for event in events if event["sequence"] >= told[0]["sequence"]] == told
    assert json.loads(tool["result"])["output"] == "working\n42\n"
    assert comparable(view) == comparable(session.snapshot())


def test_without_a_provider_the_demo_model_answers(whole: DistributedProcess) -> None:
    session = SessionClient.create(whole)
    session.answer("hello")
    assert session.get("/attempts")["items"][0]["provider"] == "demo"
    assert "tool_result" in [entry["kind"] for entry in session.history()]


def test_the_link_signs_a_browser_in_once(whole: DistributedProcess) -> None:
    found = LINK.search(whole.log.read_text("utf-8"))
    assert found is not None
    with whole.client(token="", follow_redirects=True) as browser:
        page = browser.get(found[1])
        assert page.status_code == 200
        assert browser.cookies["sessionid"]
        assert browser.get("/admin/").status_code == 200
    with whole.client(token="") as other:
        assert "sessionid" not in other.get(found[1]).cookies


def test_what_it_tells_is_its_owner_s_alone_and_names_each_process(whole: DistributedProcess) -> None:
    assert whole.facts.keys() == {"url", "token", "pid", "instance_id"}
    for name in ("server.json", "processes.json"):
        assert stat.S_IMODE((whole.data_dir / name).stat().st_mode) == 0o600
    counts = {kind: len(pids) for kind, pids in whole.processes.items()}
    # PostgreSQL is the suite's.
    assert counts == {"web": 2, "actors": 2, "nginx": 1, "redis": 1, "postgres": 0}
    output = whole.log.read_text("utf-8")
    assert len([line for line in output.splitlines() if whole.url in line]) == 1
    assert whole.token not in output


def test_a_large_body_is_refused_with_a_problem_and_a_largest_one_is_taken(whole: DistributedProcess) -> None:
    session = SessionClient.create(whole)
    refused = session.http.post("/api/sessions", content=b" " * 70_000 + b"{}", headers=JSON)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    unannounced = session.http.post(
        f"{session.path}/inputs", content=iter([b" " * 65_536] * 200), headers=JSON
    )
    assert (unannounced.status_code, unannounced.json()["code"]) == (413, "too_large")
    body = json.dumps({"text": "x" * 8_000_000})
    answer = session.http.post(f"{session.path}/inputs", content=body, headers=JSON)
    assert answer.status_code == 202, answer.text


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", b"400", "invalid_request"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nLarge: " + b"x" * 20_000 + b"\r\n\r\n", b"431", "too_large"),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"431", "too_large"),
    ],
    ids=["malformed", "header", "target"],
)
def test_what_nginx_refuses_is_a_problem_too(
    whole: DistributedProcess, head: bytes, status: bytes, code: str
) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(whole.url).port or 0), 30) as connection:
        connection.sendall(head)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.split()[1] == status
    assert b"application/problem+json" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == code


@pytest.mark.parametrize("kind", ["web", "actors", "nginx", "redis"])
def test_a_killed_process_comes_back_and_the_work_goes_on(whole: DistributedProcess, kind: str) -> None:
    pid = whole.processes[kind][0]
    os.kill(pid, signal.SIGKILL)
    if kind == "web":
        # The other one answers at once: nobody is sent to one that is gone.
        answers = [whole.client().get("/api/server").status_code for _ in range(10)]
        assert answers == [200] * 10
    wait_for(lambda: whole.replaced(kind, pid), f"another {kind}", 60)
    name = kind if whole.count(kind) == 1 else f"{kind}-1"
    wait_for(lambda: f"{name} is back" in whole.log.read_text("utf-8"), "the news", 60)
    assert f"{name} was ended by SIGKILL" in whole.log.read_text("utf-8")
    answered(SessionClient.create(whole), "hello")


def answered(session: SessionClient, text: str) -> None:
    """Ask, and wait by asking again: right after a fault streams may be sent away, until a lease ends."""
    accepted = session.ask(text)

    def ended() -> bool:
        return bool(session.get(f"/inputs/{accepted['id']}")["outcome"] == "completed")

    wait_for(ended, f"the answer to {text!r}", 90)


def said_or_slept(request: ScriptedRequest, out: Out) -> Awaitable[None]:
    """A cell that does not end for whoever says so, else a word."""
    sleeps = b"sleep" in request.raw and b"function_call_output" not in request.raw
    return Reply(Call("python", {"code": SLEEPER}) if sleeps else Say("said"))(request, out)


def test_data_and_token_outlive_a_drain_and_a_crash_and_nothing_runs_on(own: DistributedProcess) -> None:
    own.start()
    token = own.token
    with ScriptedThread(said_or_slept) as provider:
        profile = define_profile(own, provider.base_url, "responses")
        session, busy = (SessionClient.create(own, provider=profile) for _ in range(2))
        session.answer("first")
        database = own.processes["postgres"][0]
        os.kill(database, signal.SIGKILL)
        wait_for(lambda: own.replaced("postgres", database), "another PostgreSQL", 60)
        wait_for(lambda: "postgres is back" in own.log.read_text("utf-8"), "the news", 60)
        answered(session, "second")
        with busy.follow() as follower:
            busy.ask("sleep")
            follower.until(lambda: bool(follower.of("tool_output")), "the cell")
            everything = descendants(own.pid)
            assert own.terminate() == 0
            follower.until(lambda: follower.close_code is not None, "the close")
            assert [ended["outcome"] for ended in follower.of("turn_completed")] == ["interrupted"]
            assert follower.close_code == 1012
        wait_gone(everything)
        assert not (own.data_dir / "server.json").exists()
        own.start()
        answered(SessionClient(own, session.id), "third")
        everything = descendants(own.pid)
        end(own.process, signal.SIGKILL)
        own.environment = {**own.environment, "ALBEDO_ACTOR_DRAIN_SECONDS": "600"}
        # At once, while what it left is still about to go.
        own.start()
        wait_gone(everything)
        last = SessionClient(own, session.id)
        # It waits for the end of the killed host's lease.
        answered(last, "fourth")
    assert own.token == token
    assert [run["state"] for run in last.get("/runs")["items"]] == ["completed"] * 4


def test_a_second_signal_ends_at_once(own: DistributedProcess) -> None:
    if not own.alive():
        own.environment = {**own.environment, "ALBEDO_ACTOR_DRAIN_SECONDS": "600"}
        own.start()
    with ScriptedThread(said_or_slept) as provider:
        profile = define_profile(own, provider.base_url, "responses")
        session = SessionClient.create(own, provider=profile)
        with session.follow() as follower:
            session.ask("sleep")
            follower.until(lambda: bool(follower.of("tool_output")), "the cell")
            everything = descendants(own.pid)
            own.process.send_signal(signal.SIGTERM)
            port = urlsplit(own.url).port or 0
            wait_for(lambda: not accepts(port), "the end of listening")
            assert own.terminate() == 1
        wait_gone(everything)


def test_it_can_be_ended_while_it_starts(own: DistributedProcess) -> None:
    if own.alive():
        own.terminate()
    own.launch()
    wait_for(lambda: (own.data_dir / "processes.json").exists(), "a first process")
    everything = descendants(own.process.pid)
    assert own.terminate() == 0
    wait_gone(everything)
    assert not (own.data_dir / "processes.json").exists()
