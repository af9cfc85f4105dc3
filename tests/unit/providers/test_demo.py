"""What the demo model answers, read from its own bytes."""

from __future__ import annotations

import ast
import asyncio
import json
from typing import Any

import pytest

from streaming.providers.demo import DemoModel
from streaming.providers.scripted_http import Out, ScriptedRequest

TOOLS = [{"type": "function", "name": "python", "function": {"name": "python"}}]
PATHS = {"responses": "/v1/responses", "chat_completions": "/v1/chat/completions"}


class Recorder(Out):
    """The answer without a socket: what would be written."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.ended = False
        self.slept = 0.0

    def status(self, code: int, headers: Any = None) -> None:
        assert code == 200

    async def write(self, data: bytes | str) -> None:
        self.parts.append(data if isinstance(data, bytes) else data.encode())

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds

    async def end(self) -> None:
        self.ended = True


def answer(protocol: str, items: list[dict[str, Any]], *, tools: Any = TOOLS, pace: float = 0.0) -> Any:
    """The demo's answer as (text, calls, recorder), from its form without a stream."""
    key = "input" if protocol == "responses" else "messages"
    raw = json.dumps({"stream": pace > 0, key: items, "tools": tools}).encode()
    out = Recorder()
    asyncio.run(DemoModel(pace)(ScriptedRequest("POST", PATHS[protocol], {}, raw), out))
    assert out.ended
    if pace:
        return "", [], out
    body = json.loads(b"".join(out.parts))
    if protocol == "responses":
        text = "".join(i["content"][0]["text"] for i in body["output"] if i["type"] == "message")
        return text, [i for i in body["output"] if i["type"] == "function_call"], out
    message = body["choices"][0]["message"]
    return (
        message["content"],
        [c["function"] | {"call_id": c["id"]} for c in message.get("tool_calls", [])],
        out,
    )


def result(protocol: str, text: str) -> dict[str, Any]:
    if protocol == "responses":
        return {"type": "function_call_output", "call_id": "c", "output": text}
    return {"role": "tool", "tool_call_id": "c", "content": text}


@pytest.mark.parametrize("protocol", list(PATHS))
def test_it_says_that_it_is_scripted_and_writes_a_call(protocol: str) -> None:
    text, (call,), _ = answer(protocol, [{"role": "user", "content": "sum 3 and 4"}])
    assert "scripted" in text
    assert call["name"] == "python"
    ast.parse(json.loads(call["arguments"])["code"])


@pytest.mark.parametrize("protocol", list(PATHS))
def test_code_of_the_user_is_run_as_it_is(protocol: str) -> None:
    _, (call,), _ = answer(
        protocol, [{"role": "user", "content": "run\n```python\nprint('ü')\nx = 1\n```\nok"}]
    )
    assert json.loads(call["arguments"]) == {"code": "print('ü')\nx = 1"}


@pytest.mark.parametrize("protocol", list(PATHS))
def test_it_answers_with_what_the_result_said(protocol: str) -> None:
    good = json.dumps({"status": "ok", "output": "forty-two\n", "displays": [{}]})
    text, calls, _ = answer(protocol, [{"role": "user", "content": "x"}, result(protocol, good)])
    assert calls == []
    assert "forty-two" in text
    assert "displayed 1" in text


@pytest.mark.parametrize("protocol", list(PATHS))
def test_it_tells_of_an_error(protocol: str) -> None:
    bad = json.dumps({"status": "error", "output": "", "error": {"name": "ValueError", "message": "no"}})
    text, _, _ = answer(protocol, [result(protocol, bad)])
    assert "`error`" in text
    assert "ValueError: no" in text


@pytest.mark.parametrize("protocol", list(PATHS))
def test_a_second_task_gets_a_call_with_another_id(protocol: str) -> None:
    first = [{"role": "user", "content": "one"}]
    _, (one,), _ = answer(protocol, first)
    _, (two,), _ = answer(protocol, [*first, result(protocol, "ok"), {"role": "user", "content": "one"}])
    assert one["call_id"] != two["call_id"]


@pytest.mark.parametrize("protocol", list(PATHS))
def test_without_the_tool_it_only_speaks(protocol: str) -> None:
    text, calls, _ = answer(protocol, [{"role": "user", "content": "x"}], tools=[])
    assert "scripted" in text
    assert calls == []


@pytest.mark.parametrize("protocol", list(PATHS))
def test_the_code_is_written_in_small_pieces_at_a_humane_pace(protocol: str) -> None:
    _, _, out = answer(protocol, [{"role": "user", "content": "x"}], pace=0.02)
    assert len(out.parts) > 100
    assert 2.0 <= out.slept <= 4.0


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"input": 5}', b'{"messages": [5]}', b'{"input": [{"content": 7}]}']
)
def test_a_strange_request_gets_an_answer(body: bytes) -> None:
    out = Recorder()
    asyncio.run(DemoModel(0)(ScriptedRequest("POST", PATHS["responses"], {}, body), out))
    assert b"scripted" in b"".join(out.parts)
