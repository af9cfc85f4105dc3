"""Every recorded response, played to the whole server over a socket: what it runs, keeps, and asks next.

The cases are played at once, each by a model and in a session of its own; each test then looks at one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from streaming.providers.scripted import Reply, ScriptedThread, wire_case
from streaming.providers.scripted_parts import Say
from tests.acceptance.conftest import define_profile
from tests.support.modes import Servers
from tests.support.recorder_tool import recorded
from tests.support.request_checker import faults
from tests.support.server import ServerProcess
from tests.support.session import Event, SessionClient

FILES = sorted((Path(__file__).parents[1] / "cases" / "wire").glob("*.json"))
NEXT = "what comes next"
AT_ONCE = 6


@dataclass(frozen=True, slots=True)
class Played:
    """What a client and the provider saw of one case."""

    expect: dict[str, Any]
    bodies: list[Any]
    paths: list[str]
    events: list[Event]
    entries: list[Event]
    attempts: list[dict[str, Any]]
    called: list[tuple[str, Any]]
    started: list[dict[str, Any]]

    def of(self, kind: str) -> list[Any]:
        return [event["data"] for event in self.events if event["type"] == kind]

    def said(self, kind: str) -> list[str]:
        """The text of each entry of a kind."""
        found = [entry for entry in self.entries if entry["kind"] == kind]
        return ["".join(part.get("text", "") for part in entry["content"]) for entry in found]

    @property
    def outcome(self) -> str:
        (completed,) = self.of("turn_completed")
        return str(completed["outcome"])


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


def play(server: ServerProcess, case: dict[str, Any]) -> Played:
    with ScriptedThread([wire_case(case), Reply(Say(NEXT))]) as provider:
        profile = define_profile(server, provider.base_url, case["protocol"])
        session = SessionClient.create(server, provider=profile)
        with session.follow() as follower:
            asked = session.ask("go")
            if "retry_after_s" in case["expect"]:
                # What it would wait is known now; the wait itself proves nothing more.
                follower.until(lambda: bool(follower.of("retry")))
                session.interrupt()
            events = follower.until_answered(asked["id"])
        return Played(
            expect=case["expect"],
            bodies=[request.body for request in provider.requests],
            paths=[request.path for request in provider.requests],
            events=events,
            entries=session.history(),
            attempts=session.get("/attempts")["items"],
            called=[arguments_of(session, event["data"]) for event in events if event["type"] == "tool"],
            started=recorded(session.snapshot()["workspace"]),
        )


def arguments_of(session: SessionClient, tool: Event) -> tuple[str, Any]:
    """The call's name and its parsed arguments, fetched where they are too long to stand in the event."""
    if tool["content_complete"]:
        return tool["name"], tool["arguments"]
    assert tool["reference"]["field"] == "arguments"
    return tool["name"], json.loads(session.content(tool["reference"]["url"], "arguments"))


@pytest.fixture(scope="module")
def played(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Played]]]:
    data_dir = tmp_path_factory.mktemp("wire") / "data"
    recorder = "tests.support.recorder_tool.RecorderTool"
    with (
        servers.running(data_dir, ALBEDO_TOOLS=recorder, ALBEDO_KERNEL_PREWARMED="0") as server,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        yield {path.stem: pool.submit(play, server, load(path)) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_response_comes_to_its_outcome(path: Path, played: dict[str, Future[Played]]) -> None:
    case = played[path.stem].result()
    CHECKS[case.expect["outcome"]](case)
    for index, body in enumerate(case.bodies):
        assert faults(case.paths[index], body) == []


def check_calls(case: Played) -> None:
    expected = case.expect["tool_calls"]
    assert case.outcome == "completed"
    assert len(case.bodies) == 2
    tools = case.of("tool")
    assert case.called == [(call["name"], call["arguments"]) for call in expected]
    assert {tool["status"] for tool in tools} == {"ok"}
    assert case.started == [call["arguments"] for call in expected]
    ids = [tool["tool_call_id"] for tool in tools]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    for tool_call_id, call in zip(ids, expected, strict=True):
        if not call["id_hint"].startswith("<"):
            assert tool_call_id == call["id_hint"]
    assert case.said("assistant") == ([case.expect["text"]] if case.expect["text"] else []) + [NEXT]
    check_rest(case)


def check_text(case: Played) -> None:
    assert case.outcome == "completed"
    assert len(case.bodies) == 1
    (text,) = case.said("assistant")
    assert (text.strip() if case.expect.get("text_compare") == "strip" else text) == case.expect["text"]
    assert case.started == []
    check_rest(case)


def check_retry(case: Played) -> None:
    (retry,) = case.of("retry")
    assert retry["delay_ms"] >= 1000 * case.expect.get("retry_after_s", 0)
    assert case.started == []
    assert case.of("tool") == []
    if "retry_after_s" in case.expect:
        assert case.outcome == "interrupted"
        assert case.attempts[0]["cancel_phase"] == "retry_wait"
        assert case.said("assistant") == []
        return
    assert case.outcome == "completed"
    assert [attempt["outcome"] for attempt in case.attempts] == ["failed", "completed"]
    first, second = case.bodies
    assert second == first
    assert [entry["kind"] for entry in case.entries] == ["user", "assistant"]
    assert case.said("assistant") == [NEXT]


def check_error(case: Played) -> None:
    assert case.outcome == "failed"
    assert len(case.bodies) == 1
    assert case.of("retry") == []
    (error,) = case.of("error")
    assert error["retryable"] is False
    assert case.expect.get("error_contains", "") in error["detail"]
    assert case.started == []
    assert [entry["kind"] for entry in case.entries] == ["user"]


CHECKS = {"tool_calls": check_calls, "text": check_text, "retry": check_retry, "error": check_error}


def check_rest(case: Played) -> None:
    expect = case.expect
    if "reasoning" in expect:
        assert case.said("thinking") == [expect["reasoning"]]
    if "max_seconds" in expect:
        attempt = case.attempts[0]
        took = datetime.fromisoformat(attempt["ended_at"]) - datetime.fromisoformat(attempt["started_at"])
        assert took.total_seconds() < expect["max_seconds"]
    for name, value in expect.get("next_request", {}).items():
        NEXT_REQUEST[name](case.bodies[1], value)


def messages_with_calls(body: Any) -> list[Any]:
    found = [message for message in body["messages"] if message.get("tool_calls")]
    assert found
    return found


def calls_and_results(body: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Of either protocol: the ids of the calls, those of the results, and the arguments."""
    if "messages" in body:
        calls = [call for message in messages_with_calls(body) for call in message["tool_calls"]]
        results = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
        return [c["id"] for c in calls], results, [c["function"]["arguments"] for c in calls]
    calls = [item for item in body["input"] if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    return [call["call_id"] for call in calls], outputs, [call["arguments"] for call in calls]


def reasoning_goes_back(body: Any, value: Any) -> None:
    assert [message["reasoning_content"] for message in messages_with_calls(body)] == [value]


def extra_content_goes_back(body: Any, value: Any) -> None:
    assert [m["tool_calls"][0].get("extra_content") for m in messages_with_calls(body)] == [value]


def item_goes_back(body: Any, value: Any) -> None:
    assert len([item for item in body["input"] if value.items() <= item.items()]) == 1


def reasoning_stands_before_its_call(body: Any, value: Any) -> None:
    kinds = [item.get("type") for item in body["input"]]
    assert kinds.index("reasoning") < kinds.index("function_call")


def ids_are_paired(body: Any, value: Any) -> None:
    calls, results, _ = calls_and_results(body)
    assert calls
    assert calls == results
    assert all(calls)


def ids_are_short_enough(body: Any, value: Any) -> None:
    calls, _, _ = calls_and_results(body)
    assert all(len(call) <= value for call in calls)


def arguments_are_strings(body: Any, value: Any) -> None:
    _, _, arguments = calls_and_results(body)
    assert all(isinstance(json.loads(text), dict) for text in arguments)


NEXT_REQUEST = {
    "assistant_reasoning_content": reasoning_goes_back,
    "tool_call_extra_content": extra_content_goes_back,
    "input_contains_item": item_goes_back,
    "before_function_call": reasoning_stands_before_its_call,
    "call_id_non_empty": ids_are_paired,
    "call_and_result_ids_equal": ids_are_paired,
    "call_id_max_len_if_remapped": ids_are_short_enough,
    "arguments_is_string": arguments_are_strings,
}
