"""Recorded faults of real servers, played over a socket: the outcome, and the request that follows it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from streaming.providers.call_ids import assign_tool_call_ids
from streaming.providers.client import ProviderClient
from streaming.providers.retry import GiveUp, Retry, decide
from streaming.providers.scripted import Reply, ScriptedProvider, wire_case
from streaming.providers.scripted_parts import Say
from streaming.providers.types import (
    AssistantItem,
    CallItem,
    Item,
    ResultItem,
    StepRequest,
    StepResponse,
    ThinkingItem,
    UserItem,
)
from tests.support.provider_attempts import LOOKUP, PYTHON, Outcome, profile, provider_client, run
from tests.support.request_checker import faults

FILES = sorted((Path(__file__).parents[2] / "cases" / "wire").glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_a_recorded_response_has_its_outcome(path: Path) -> None:
    case = load(path)
    async with ScriptedProvider([wire_case(case), Reply(Say("next"))]) as server, provider_client() as client:
        to = profile(server.base_url, case["protocol"])
        outcome = await run(client, to)
        _check(case["expect"], outcome)
        if outcome.error is None:
            await _follow(client, to, outcome.response)
            following = server.requests[-1]
            assert faults(following.path, following.body) == []
            _check_next(case["expect"].get("next_request", {}), following.body)


def _check(expect: dict[str, Any], outcome: Outcome) -> None:
    if expect["outcome"] in ("retry", "error"):
        assert outcome.error is not None
        to = profile("http://127.0.0.1/v1")
        decision = decide(outcome.error, attempt=1, profile=to, rng=random.Random(1))
        assert isinstance(decision, Retry if expect["outcome"] == "retry" else GiveUp)
        if isinstance(decision, Retry):
            assert decision.delay_seconds >= expect.get("retry_after_s", 0)
        assert outcome.record["outcome"] == "failed"
        return
    assert outcome.record["outcome"] == "completed"
    got = [(call.name, json.loads(call.arguments)) for call in outcome.response.calls]
    assert got == [(call["name"], call["arguments"]) for call in expect["tool_calls"]]
    assert outcome.response.text.strip() == expect["text"].strip()


async def _follow(client: ProviderClient, to: Any, response: StepResponse) -> None:
    """The step after it, as a session would build it from what it stored."""
    items: list[Item] = [UserItem("go")]
    echoes = response.thinking_echo or ((None,) if response.thinking else ())
    items += [ThinkingItem(response.thinking if at == 0 else "", echo) for at, echo in enumerate(echoes)]
    items += [AssistantItem(response.text, response.text_echo)] if response.text else []
    ids = assign_tool_call_ids(response.calls, set())
    for tool_call_id, call in zip(ids, response.calls, strict=True):
        items.append(CallItem(tool_call_id, call.name, call.arguments, call.echo))
    items += [ResultItem(tool_call_id, "done") for tool_call_id in ids]
    await run(client, to, StepRequest("", [*items, UserItem("on")], [PYTHON, LOOKUP]))


def _check_next(wanted: dict[str, Any], body: Any) -> None:
    told = json.dumps(body)
    for name, value in wanted.items():
        if name == "assistant_reasoning_content":
            assert any(message.get("reasoning_content") == value for message in body["messages"])
        elif name == "tool_call_extra_content":
            calls = [call for message in body["messages"] for call in message.get("tool_calls", [])]
            assert calls[0]["extra_content"] == value
        elif name == "input_contains_item":
            kinds = [item["type"] for item in body["input"]]
            assert any(value.items() <= item.items() for item in body["input"])
            assert kinds.index("reasoning") < kinds.index("function_call")
        elif name in ("call_id_non_empty", "arguments_is_string", "call_and_result_ids_equal"):
            assert '"call_id": ""' not in told  # the rest is what the request checker asks of every request
        else:
            assert name in ("before_function_call", "call_id_max_len_if_remapped"), name
