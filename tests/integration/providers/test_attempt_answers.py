"""Whole answers over real sockets, in both protocols: what the step gets, and what the record says."""

from __future__ import annotations

import gzip
import zlib

import pytest

from streaming.providers import attempt_wire
from streaming.providers.events import ArgumentsDelta, TextDelta
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say, Think
from streaming.providers.scripted_signal import Barrier
from streaming.providers.types import Protocol
from tests.support.provider_attempts import LOOKUP, PROTOCOLS, ask, profile, provider_client, run
from tests.support.request_checker import faults

CODE = {"code": 'print("Größe 😀")\n' * 20}


@pytest.fixture(autouse=True)
def patient_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every server here ends its body, if not at once: the machine may be busy."""
    monkeypatch.setattr(attempt_wire, "DRAIN_SECONDS", 40.0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("write_bytes", [0, 1, 7, 100_000])
async def test_thinking_text_and_calls_arrive_whole_however_the_wire_is_cut(
    protocol: Protocol, write_bytes: int
) -> None:
    reply = Reply(
        Think("Hm.", 2), Say("I compute. Ü", 3), Call("python", CODE, "call_a", 5), write_bytes=write_bytes
    )
    async with ScriptedProvider(reply) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol))
        (request,) = server.requests
    response = outcome.response
    assert (response.thinking, response.text) == ("Hm.", "I compute. Ü")
    (call,) = response.calls
    assert (call.name, call.native_id) == ("python", "call_a")
    assert call.arguments == reply.answer.calls[0].text
    assert "".join(e.text for e in outcome.events if isinstance(e, TextDelta)) == "I compute. Ü"
    assert "".join(e.text for e in outcome.events if isinstance(e, ArgumentsDelta)) == call.arguments
    assert faults(request.path, request.body) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_record_of_a_completed_attempt_counts_what_came(protocol: Protocol) -> None:
    reply = Reply(Say("Now.", 2), Call("python", CODE, "call_a", 5))
    async with ScriptedProvider(reply) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol, max_output_tokens=9))
    record, wire = outcome.record, outcome.wire
    chars = len(reply.answer.calls[0].text)
    frames = list(reply.frames(protocol))
    assert (record["outcome"], record["phase"]) == ("completed", "completing")
    assert record["tool_argument_chars"] == chars
    assert wire["status"] == 200
    assert wire["bytes"] == sum(len(frame) for frame in frames)
    assert wire["events"] == len(frames)
    assert wire["body_eof_observed"] is True
    (tool,) = wire["tools"]
    assert (tool["name"], tool["argument_chars"]) == ("python", chars)
    assert tool["argument_delta_events"] == -(-chars // 5)
    assert tool["arguments_done_events"] == (1 if protocol == "responses" else 0)
    assert record["usage"]["input_tokens"] == 5
    assert record["usage"]["output_tokens"] == 7
    assert record["usage_source"] == "reported"
    opened = [record["started_at"], wire["opened_at"], wire["first_byte_at"]]
    closed = [wire["close_started_at"], wire["closed_at"], record["ended_at"]]
    # What was read is decoded after it came: one read may bring the first byte and the last.
    for between in (
        [record["last_byte_at"]],
        [record["first_event_at"], record["first_text_at"], record["first_argument_at"]],
    ):
        times = [*opened, *between, *closed]
        assert times == sorted(times)
    assert all(time.endswith("Z") for time in times)
    constraints = record["wire_request_constraints"]
    assert constraints["max_output_tokens"] == 9
    assert constraints["tools"] == [
        {
            "name": "python",
            "strict": "omitted",
            "schema": {"properties": 1, "required_properties": 1, "optional_properties": 0},
        },
        {
            "name": "lookup",
            "strict": "omitted",
            "schema": {"properties": 1, "required_properties": 0, "optional_properties": 1},
        },
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_text_is_handed_out_before_the_response_is_complete(protocol: Protocol) -> None:
    frames = list(Reply(Say("Hello there", 5)).frames(protocol))
    cut = next(number for number, frame in enumerate(frames) if b"Hello" in frame) + 1
    seen: list[str] = []
    barrier = Barrier()

    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.write(b"".join(frames[:cut]))
        await out.pause(barrier)
        await out.write(b"".join(frames[cut:]))

    async with ScriptedProvider(script) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url, protocol), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        async with attempt:
            async for events in attempt.events():
                seen += [event.text for event in events if isinstance(event, TextDelta)]
                barrier.release.set()
    assert seen[0] == "Hello"
    assert "".join(seen) == "Hello there"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_second_request_uses_the_connection_again(protocol: Protocol) -> None:
    async with ScriptedProvider(Reply(Say("Hi"))) as server, provider_client() as client:
        await run(client, profile(server.base_url, protocol))
        first = len(server._tasks)
        again = await run(client, profile(server.base_url, protocol))
        assert (first, len(server._tasks)) == (1, 1)
    assert again.response.text == "Hi"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_compressed_stream_is_read_as_it_comes(encoding: str) -> None:
    frames = list(Reply(Say("Hello", 1)).frames("responses"))

    async def script(request: ScriptedRequest, out: Out) -> None:
        out.status(200, {"content-type": "text/event-stream", "content-encoding": encoding})
        packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
        for frame in frames:
            await out.write(packer.compress(frame) + packer.flush(zlib.Z_SYNC_FLUSH))
        await out.write(packer.flush())

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url))
    assert outcome.response.text == "Hello"
    assert outcome.wire["bytes"] == sum(len(frame) for frame in frames)


async def test_compressed_data_that_ends_too_early_is_a_broken_answer() -> None:
    body = gzip.compress(b"".join(Reply(Say("Hello" * 200)).frames("responses")))

    async def script(request: ScriptedRequest, out: Out) -> None:
        out.status(200, {"content-encoding": "gzip"})
        await out.write(body[: len(body) // 2])

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url))
    assert outcome.error is not None
    assert outcome.error.retryable


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_endpoint_that_refuses_streaming_is_asked_without_it_from_then_on(
    protocol: Protocol,
) -> None:
    answer = Reply(Say("Whole."), Call("lookup", {"key": "x"}, "call_b"))

    async def script(request: ScriptedRequest, out: Out) -> None:
        if request.wants_stream:
            await out.json(
                400, {"error": {"message": "streaming is not supported for this model", "param": "stream"}}
            )
        else:
            await answer(request, out)

    async with ScriptedProvider(script) as server, provider_client() as client:
        first = await run(client, profile(server.base_url, protocol))
        second = await run(client, profile(server.base_url, protocol))
        streams = [request.wants_stream for request in server.requests]
        assert [faults(request.path, request.body) for request in server.requests] == [[], [], []]
    assert streams == [True, False, False]
    assert first.response.text == second.response.text == "Whole."
    assert first.response.calls[0].name == LOOKUP.name
    assert [wire["status"] for wire in first.record["wire_responses"]] == [400, 200]
    assert all(wire["closed_at"] for wire in first.record["wire_responses"])
    assert first.record["outcome"] == "completed"


async def test_an_endpoint_that_refuses_the_usage_option_still_streams() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        if "stream_options" in request.body:
            await out.json(400, {"error": {"message": "Unrecognized request argument: stream_options"}})
        else:
            await Reply(Say("Hi"))(request, out)

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, "chat_completions"))
        assert [request.wants_stream for request in server.requests] == [True, True]
    assert outcome.response.text == "Hi"
