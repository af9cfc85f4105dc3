"""Bodies of every kind, their bounds, and that nothing foreign ever comes out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streaming.limits import WireLimits
from streaming.providers.decoder import BodyDecoder, make_decoder
from streaming.providers.types import Protocol
from streaming.providers.wire_errors import ArgumentOverflow
from tests.support.decoding import (
    ARGUMENT_LIMITS,
    TOOLS,
    Decoded,
    call_chunk,
    call_item,
    chat,
    chunk,
    decode,
    each_byte,
    entry,
    message_item,
    sse,
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
