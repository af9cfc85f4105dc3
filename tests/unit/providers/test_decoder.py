"""Bodies of every kind, their bounds, and that nothing foreign ever comes out."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.limits import WireLimits
from streaming.providers.decoder import BodyDecoder, make_decoder
from streaming.providers.events import ArgumentsDelta
from streaming.providers.types import Protocol
from streaming.providers.wire_errors import ArgumentOverflow
from tests.support.decoding import (
    ARGUMENT_LIMITS,
    TOOLS,
    Decoded,
    arguments_event,
    call_chunk,
    call_item,
    chat,
    chunk,
    completed,
    decode,
    each_byte,
    entry,
    item_event,
    message_item,
    sse,
    text_event,
    two_pieces,
)

BOTH: list[Protocol] = ["chat_completions", "responses"]
CHAT_BODY: dict[str, Any] = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Go.",
                "tool_calls": [entry(None, "a", "python", '{"code":"1"}')],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7},
}
RESPONSE_BODY: dict[str, Any] = {
    "object": "response",
    "status": "completed",
    "error": None,
    "output": [message_item("m", "Go."), call_item("f1", "a", '{"code":"1"}')],
    "usage": {"input_tokens": 5, "output_tokens": 7},
}
BODIES: dict[Protocol, dict[str, Any]] = {"chat_completions": CHAT_BODY, "responses": RESPONSE_BODY}


def failure(protocol: Protocol, data: bytes, **more: Any) -> tuple[str, bool]:
    whole = decode(protocol, [data], **more)
    assert decode(protocol, each_byte(data), **more).verdict == whole.verdict
    assert whole.error is not None
    return whole.error.code, whole.error.retryable


@pytest.mark.parametrize("protocol", BOTH)
@pytest.mark.parametrize("lead", ["", "\n \r\n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_body_in_place_of_a_stream_is_an_answer(
    protocol: Protocol, lead: str, indent: int | None
) -> None:
    data = (lead + json.dumps(BODIES[protocol], indent=indent)).encode()
    whole = decode(protocol, [data], content_type="application/json")
    assert (whole.response.text, whole.calls) == ("Go.", [("python", {"code": "1"})])
    assert whole.response.usage.output_tokens == 7
    for pieces in (each_byte(data), *two_pieces(data, 60)):
        assert decode(protocol, pieces).verdict == whole.verdict


def test_a_json_body_may_lack_its_finish_reason() -> None:
    body = {"choices": [{"message": {"content": "Hi"}}]}
    assert decode("chat_completions", [json.dumps(body).encode()]).response.text == "Hi"


def test_chunks_as_a_list_or_on_lines_are_an_answer() -> None:
    chunks = [chunk({"content": "H"}), chunk({"content": "i"}), chunk(finish="stop")]
    for data in (json.dumps(chunks), "\n".join(map(json.dumps, chunks))):
        assert decode("chat_completions", [data.encode()]).response.text == "Hi"


@pytest.mark.parametrize("protocol", BOTH)
@pytest.mark.parametrize(
    ("data", "code", "retryable"),
    [
        (b"", "response_empty", True),
        (b" \n\n", "response_empty", True),
        (b": keepalive\n\n", "response_ended_early", True),
        (b"Internal Server Error", "response_ended_early", True),
        (b"<!doctype html><p>Welcome", "web_page", False),
        (b"\xef\xbb\xbf\n <html>", "web_page", False),
        (b"{}", "response_ended_early", True),
        (b'{"choices":[', "response_damaged", True),
        (b"[1, 2]", "response_ended_early", True),
        (b'{"error":{"message":"no","code":429}}', "rate_limited", True),
        (b'{"error":{"message":"no","code":400}}', "request_rejected", False),
        (b'[{"error":{"message":"no","code":503}}]', "overloaded", True),
        (b'{"error":{"message":"insufficient credits"}}', "quota_exhausted", False),
        (b'{"detail":"model not found"}', "not_found", False),
    ],
)
def test_a_body_that_is_no_answer(protocol: Protocol, data: bytes, code: str, retryable: bool) -> None:
    assert failure(protocol, data) == (code, retryable)


def test_an_empty_page_is_still_a_page() -> None:
    assert failure("responses", b"", content_type="text/html; charset=utf-8") == ("web_page", False)


@pytest.mark.parametrize("protocol", BOTH)
def test_a_final_error_glued_into_an_unfinished_event_is_that_error(protocol: Protocol) -> None:
    glued = b'data: {"id":"x","cho\ndata: {"error":{"message":"m","code":"insufficient_quota"}}\n\n'
    assert failure(protocol, glued) == ("quota_exhausted", False)


def test_events_one_newline_apart_are_told_apart_and_live() -> None:
    lines = [chunk({"content": "H"}), chunk({"content": "i"}), chunk(finish="stop")]
    data = "".join(f"data: {json.dumps(line)}\n" for line in lines).encode() + b"data: [DONE]\n"
    decoder = chat_decoder()
    assert len(decoder.feed(data[: data.index(b"data: [DONE]")])) == 2
    decoder.feed(b"data: [DONE]\n")
    assert decoder.finished


def chat_decoder(limits: WireLimits | None = None) -> BodyDecoder:
    decoder = make_decoder(
        "chat_completions", limits=limits or WireLimits(), argument_limits=ARGUMENT_LIMITS, known_tools=TOOLS
    )
    assert isinstance(decoder, BodyDecoder)
    return decoder


def test_a_decoder_finishes_with_its_terminal_event_and_ignores_what_follows() -> None:
    decoder = chat_decoder()
    assert not decoder.ending
    decoder.feed(chat(chunk({"content": "Hi"}), finish="stop", done=False))
    assert (decoder.ending, decoder.finished) == (True, False)
    decoder.feed(b"data: [DONE]\n")
    assert decoder.finished
    assert decoder.feed(b"data: garbage\n\n") == []
    assert decoder.feed_eof() == []


def test_comments_are_signs_of_life() -> None:
    decoder = chat_decoder()
    decoder.feed(b": one\n\ndata: ")
    assert decoder.comments == 1


def test_a_response_over_its_bytes_ends() -> None:
    data = chat(chunk({"content": "Hi"}), finish="stop")
    assert decode("chat_completions", [data], limits=WireLimits(response_bytes=len(data))).error is None
    # Not one byte less: `[DONE]` ends the response without the blank line behind it.
    limits = WireLimits(response_bytes=len(data) - 3)
    assert failure("chat_completions", data, limits=limits) == ("response_over_limit", True)


@pytest.mark.parametrize(
    ("name", "limit"),
    [("python", 100), ("search", 50), ("unheard_of", 50)],
    ids=["own", "default", "unknown"],
)
def test_arguments_over_the_limit_of_their_tool_end_the_response(name: str, limit: int) -> None:
    def run(chars: int) -> Decoded:
        decoder_limits = WireLimits(default_argument_chars=50)
        decoder = make_decoder(
            "chat_completions", limits=decoder_limits, argument_limits={"python": 100}, known_tools=TOOLS
        )
        arguments = '"' + "x" * (chars - 2) + '"'
        try:
            data = chat(call_chunk(entry(0, "a", name, arguments)))
            return Decoded(tuple(decoder.feed(data)), None)
        except ArgumentOverflow as error:
            return Decoded((), error)

    assert run(limit).error is None
    error = run(limit + 1).error
    assert isinstance(error, ArgumentOverflow)
    assert (error.tool, error.limit, error.chars) == (name, limit, limit + 1)


def test_no_argument_text_stands_in_any_error() -> None:
    half = '{"code":"CANARY'
    for tail in (b"", b"data: {\n\n", b"data: [DONE]\n\n", sse({"error": {"message": "m"}})):
        data = sse(call_chunk(entry(0, "a", "python", half))) + tail
        error = decode("chat_completions", [data]).error
        assert error is not None
        assert "CANARY" not in f"{error!r} {error.detail} {error.__cause__!r} {error.__context__!r}"


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
