"""The rig's own parts: what it would not see, no trial could fail on."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from subprocess import run

import httpx
import pytest

from streaming.providers.scripted_parts import Call
from tests.chaos.final import NONCE, rank_of
from tests.chaos.ledger import Ledger
from tests.chaos.model import PlannedModel
from tests.chaos.plan import Plan, Step, find_step, is_whole, read_plan
from tests.chaos.rig import FAULTS_OF_OURS
from tests.chaos.seeds import chosen, replay, row

PLAN = Plan("p1s7", (Step(words=2, calls=("print(1)",)), Step(words=3)))


def test_a_plan_is_read_back_from_its_input() -> None:
    assert read_plan(PLAN.text) == PLAN
    assert read_plan("hello") is None


def chat(*after: dict[str, object]) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": PLAN.text}, *after]}


def responses(*after: dict[str, object]) -> dict[str, object]:
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PLAN.text}]}
    return {"input": [asked, *after]}


@pytest.mark.parametrize(
    ("body", "step"),
    [
        (chat(), 0),
        (responses(), 0),
        (chat({"role": "assistant", "tool_calls": [{"id": "p1s7.0.0"}]}), 1),
        (responses({"type": "function_call", "call_id": "p1s7.0.0"}), 1),
        (chat({"role": "assistant", "tool_calls": [{"id": "other.0.0"}]}), 0),
    ],
)
def test_a_request_says_which_step_is_next(body: dict[str, object], step: int) -> None:
    assert find_step(body) == (PLAN, step)


def test_a_request_without_a_plan_has_no_step() -> None:
    assert find_step({"messages": [{"role": "user", "content": "hello"}]}) is None


def test_only_one_whole_answer_is_whole() -> None:
    plans = {PLAN.nonce: PLAN}
    first, second = "".join(PLAN.words(0)), "".join(PLAN.words(1))
    assert is_whole(first, plans)
    assert is_whole(second, plans)
    for text in (first + second, first + first, first[:-8], second[7:], "hello", ""):
        assert not is_whole(text, plans), text


def test_a_call_writes_its_line_before_it_does_anything_else(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for _ in range(2):
        run([sys.executable, "-c", ledger.code("p1s7.0.0", "raise SystemExit(3)")], check=False)
    assert [line.nonce for line in ledger.lines()] == ["p1s7.0.0"] * 2
    assert len({line.pid for line in ledger.lines()}) == 2


def test_a_call_on_record_is_found_in_the_ledger(tmp_path: Path) -> None:
    with PlannedModel(Ledger(tmp_path / "ledger.jsonl")) as model:
        call = model.reply(PLAN, 0).answer.parts[1]
    assert isinstance(call, Call)
    found = NONCE.search(call.text)
    assert found is not None
    assert found[1] == PLAN.call_nonce(0, 0)


async def test_the_model_stops_where_it_is_told_to(tmp_path: Path) -> None:
    model = PlannedModel(Ledger(tmp_path / "ledger.jsonl"))
    barrier = model.hold(PLAN, step=1, after=2)
    with model:
        writing = asyncio.create_task(ask(model))
        await asyncio.wait_for(barrier.reached.wait(), 30)
        assert model.frames == 2
        barrier.release.set()
        text = await writing
    assert text.count("p1s7.1.") == 3
    assert len(model.requests) == 1


async def ask(model: PlannedModel) -> str:
    body = chat({"role": "assistant", "tool_calls": [{"id": "p1s7.0.0"}]}) | {"stream": True}
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as http:
        return (await http.post(f"{model.base_url}/chat/completions", json=body)).text


def test_generations_are_ordered_by_their_claims() -> None:
    assert rank_of("10-0a0b0c0d") > rank_of("9-ffffffff")


@pytest.mark.parametrize(
    "line", ["Traceback (most recent call last):", "ERROR albedo.host an actor failed: x"]
)
def test_a_defect_in_the_log_is_seen(line: str) -> None:
    assert FAULTS_OF_OURS.search(line)


def test_one_seed_or_many_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAOS_SEEDS", raising=False)
    monkeypatch.delenv("CHAOS_SEED", raising=False)
    assert chosen(2) == [1, 2]
    monkeypatch.setenv("CHAOS_SEEDS", "4")
    assert chosen(2) == [1, 2, 3, 4]
    monkeypatch.setenv("CHAOS_SEED", "17")
    assert chosen(2) == [17]


def test_a_row_has_its_number_in_its_name() -> None:
    with pytest.raises(AssertionError, match="F99"):
        row("F99")(test_one_seed_or_many_can_be_asked_for)


def test_a_failure_says_how_to_try_its_seed_again(request: pytest.FixtureRequest) -> None:
    assert replay(request.node) == ""


@row("F00", seeds=1)
def test_f00_says_how_to_try_its_seed_again(seed: int, request: pytest.FixtureRequest) -> None:
    assert replay(request.node).startswith(f"make chaos ROW=F00 SEED={seed}")
