"""Odd, arbitrary and shuffled input: one verdict for any cut, nothing foreign, bounded work."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.events import ArgumentsDelta
from streaming.providers.types import Protocol
from tests.support.decoding import (
    arguments_event,
    call_chunk,
    call_item,
    chat,
    chunk,
    completed,
    decode,
    entry,
    item_event,
    message_item,
    sse,
    text_event,
)

BOTH: list[Protocol] = ["chat_completions", "responses"]


@pytest.mark.parametrize("protocol", BOTH)
@pytest.mark.parametrize(
    "odd",
    [
        '{"choices":NaN}',
        '{"choices":[{"index":' + "9" * 5_000 + ',"delta":{"content":"x"}}]}',
        '{"type":"response.output_text.delta","output_index":' + "9" * 5_000 + ',"delta":"x"}',
        "[" * 50_000 + "]" * 50_000,
        '{"a":' * 900 + "1" + "}" * 900,
        '{"choices":[{"delta":{"tool_calls":[{"index":1e400,"function":{"name":"python","arguments":'
        + '{"a":' * 900 + "1" + "}" * 900 + "}}]}}]}",
        '{"choices":[{"delta":{"extra_content":' + '{"a":' * 900 + "1" + "}" * 900 + "}}]}",
        '{"type":"response.output_item.done","item":{"type":"reasoning","summary":'
        + "[" * 900 + "]" * 900 + "}}",
        '{"type":[],"choices":[{"index":[],"finish_reason":{},"delta":{"content":{"type":[]}}}],"usage":[]}',
        '{"type":"response.output_item.done","item":{"type":{},"id":[],"call_id":{}}}',
        '{"error":{"code":[],"type":{},"message":[],"status":[[]]},"object":[]}',
        '{"base_resp":{"status_code":[]},"code":{},"message":"x"}',
        '{"type":"response.completed","response":{"output":{"a":1},"usage":3,"status":[]}}',
        '{"type":"response.incomplete","response":{"incomplete_details":[],"output":[[]]}}',
    ],
)  # fmt: skip
def test_odd_values_raise_nothing_foreign(protocol: Protocol, odd: str) -> None:
    decode(protocol, [sse(odd, "[DONE]")])
    decode(protocol, [odd.encode()])


EVENTS: dict[Protocol, list[Any]] = {
    "chat_completions": [
        chunk({"content": "<think>é😀"}),
        chunk({"reasoning": "x\ud83d", "reasoning_details": [{"type": "t", "text": "y"}]}),
        call_chunk(entry(0, "a", "python", '{"code":')),
        call_chunk(entry(0, None, None, '"1"}'), entry(1, "b", "search", "{}")),
        chunk(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 5}},
        {"choices": [{"message": {"content": "Hi", "tool_calls": [entry(0, "a", "python", "{}")]}}]},
        {"error": {"code": 500}},
        "[DONE]",
    ],
    "responses": [
        text_event("delta", "é😀"),
        text_event("done", "é😀!", "other", 1),
        item_event("added", call_item("f1", "a", "")),
        arguments_event("delta", '{"code":', "f1"),
        arguments_event("done", '{"code":"1"}', "f2", 3),
        item_event("done", call_item("f1", "a", '{"code":"1"}')),
        item_event("done", {"type": "reasoning", "id": "r", "summary": [{"text": "x"}]}, 2),
        completed(message_item("m", "é😀"), call_item("f3", None, "{}")),
        completed(status="incomplete"),
        {"type": "error"},
    ],
}


@pytest.mark.parametrize("protocol", BOTH)
@settings(max_examples=120)
@given(data=st.data())
def test_any_order_and_any_cut_give_one_verdict_and_no_foreign_error(
    protocol: Protocol, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(EVENTS[protocol]), max_size=8))
    body = sse(*chosen)
    noise = data.draw(st.binary(max_size=8))
    at = data.draw(st.integers(0, len(body)))
    body = body[:at] + noise + body[at:]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert decode(protocol, pieces).verdict == decode(protocol, [body]).verdict


@pytest.mark.parametrize("protocol", BOTH)
@settings(max_examples=150)
@given(pieces=st.lists(st.binary(max_size=40), max_size=6))
def test_arbitrary_bytes_raise_nothing_foreign(protocol: Protocol, pieces: list[bytes]) -> None:
    decode(protocol, pieces)
    decode(protocol, [b"data: ", *pieces, b"\n\n"])


NOISE: list[Any] = [
    {"choices": []},
    {"choices": None, "usage": {}},
    chunk({"content": ""}),
    chunk({"role": "x"}),
]


@settings(max_examples=80)
@given(
    codes=st.lists(st.text(max_size=12), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    ascii_only=st.booleans(),
)
def test_interleaved_calls_come_out_as_they_were_written(
    codes: list[str], order: Any, sizes: list[int], ascii_only: bool
) -> None:
    """Heads in order, then the fragments of all calls in any order, noise between them."""
    texts = [json.dumps({"code": code}, ensure_ascii=ascii_only) for code in codes]
    queues = []
    for index, text in enumerate(texts):
        size = sizes[index % len(sizes)]
        queues.append([text[at : at + size] for at in range(0, len(text), size)])
    values: list[Any] = [call_chunk(entry(index, f"id{index}", "python", "")) for index in range(len(codes))]
    waiting = [index for index, queue in enumerate(queues) for _ in queue]
    order.shuffle(waiting)
    for index in waiting:
        values.append(call_chunk(entry(index, None, None, queues[index].pop(0))))
        values.append(order.choice(NOISE))
    decoded = decode("chat_completions", [chat(*values)])
    assert decoded.calls == [("python", {"code": code}) for code in codes]
    assert [call.native_id for call in decoded.response.calls] == [f"id{n}" for n in range(len(codes))]


@pytest.mark.parametrize("protocol", BOTH)
def test_the_work_per_fragment_does_not_grow_with_the_arguments(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in characters parsed, not in seconds: each is parsed a bounded number of times."""
    fragments = [json.dumps("x" * 60)[1:-1]] * 2_000
    if protocol == "chat_completions":
        values: list[Any] = [call_chunk(entry(0, "a", "python", '{"code":"'))]
        values += [call_chunk(entry(0, "a", "python", text)) for text in fragments]
        body = chat(*values, call_chunk(entry(0, None, None, '"}')))
    else:
        values = [item_event("added", call_item("f1", "a", "")), arguments_event("delta", '{"code":"', "f1")]
        values += [arguments_event("delta", text, "f1") for text in fragments]
        body = sse(*values, arguments_event("delta", '"}', "f1"), completed())
    parsed = 0
    loads = orjson.loads

    def counting(text: str | bytes) -> Any:
        nonlocal parsed
        parsed += len(text)
        return loads(text)

    monkeypatch.setattr(orjson, "loads", counting)
    decoded = decode(protocol, [body])
    assert len(decoded.response.calls[0].arguments) == 2_000 * 60 + 11
    assert sum(isinstance(event, ArgumentsDelta) for event in decoded.events) == 2_002
    assert parsed < 3 * len(body)
