"""What can go wrong between here and a provider: a typed error, a settled record, no secret told."""

from __future__ import annotations

import asyncio
import logging
import socket
import traceback
from typing import Any

import pytest

from streaming.providers.breaker import Breaker
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, Script, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from streaming.providers.types import Profile, Protocol
from tests.support.clock import LeapingClock
from tests.support.provider_attempts import KEY, PROTOCOLS, ask, profile, provider_client, run

SOON = 40.0
CANARY = "canary-of-the-user"


def answering(status: int, body: Any, headers: dict[str, str] | None = None) -> Script:
    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.json(status, body, headers)

    return script


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_final_and_never_followed(status: int, protocol: Protocol) -> None:
    async with ScriptedProvider(Reply(Say("stolen"))) as sink, provider_client() as client:
        script = answering(status, {}, {"location": f"{sink.base_url}/responses"})
        async with ScriptedProvider(script) as server:
            outcome = await run(client, profile(server.base_url, protocol))
        assert not sink.requests
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("provider_redirect", False)
    assert outcome.record["http_status"] == status
    assert sink.base_url not in str(outcome.error)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 408, 409, 429, 500, 502, 503, 529])
async def test_the_status_says_whether_to_try_again(status: int) -> None:
    retryable = status in (408, 409, 429) or status >= 500
    async with ScriptedProvider(answering(status, {})) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url))
    assert outcome.error is not None
    assert outcome.error.retryable is retryable
    assert (outcome.record["http_status"], outcome.record["outcome"]) == (status, "failed")
    assert outcome.wire["status"] == status


async def test_the_wait_that_a_server_asks_for_is_read() -> None:
    async with (
        ScriptedProvider(answering(503, {}, {"retry-after": "7"})) as server,
        provider_client() as client,
    ):
        outcome = await run(client, profile(server.base_url))
    assert outcome.error is not None
    assert outcome.error.retry_after == 7


async def test_an_error_body_without_end_is_read_to_a_bound() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        out.status(500, {"content-type": "text/plain"})
        while not request.closed.is_set():
            await out.write("x" * 4_096)

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url))
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)
    assert outcome.error is not None
    assert outcome.error.retryable
    assert outcome.wire["bytes"] <= 64 * 1024 * 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("how", ["abort", "cut"])
@pytest.mark.parametrize("frames", [0, 1, 3, 6])
async def test_a_connection_lost_at_any_event_is_transient(protocol: Protocol, how: str, frames: int) -> None:
    reply = Reply(Say("Hello", 2), Call("lookup", {"key": "value"}, fragments=3))

    async def script(request: ScriptedRequest, out: Out) -> None:
        for frame in list(reply.frames(protocol))[:frames]:
            await out.write(frame)
        out.abort() if how == "abort" else out.cut()

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol))
    assert outcome.error is not None
    assert outcome.error.retryable
    assert outcome.record["outcome"] == "failed"
    assert outcome.wire["closed_at"]


async def test_nobody_listens() -> None:
    # Held, so that nobody else listens there meanwhile.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        async with provider_client() as client:
            outcome = await run(client, profile(f"http://127.0.0.1:{held.getsockname()[1]}/v1"))
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("connection_failed", True)
    assert (outcome.record["failure_phase"], outcome.record["wire_responses"]) == ("connecting", [])


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/v1", "http://", "http://user:pw@127.0.0.1/v1", "nonsense", "http://127.0.0.1:x/"]
)
async def test_an_address_that_is_none_is_final(url: str) -> None:
    async with provider_client() as client:
        outcome = await run(client, profile(url))
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("invalid_base_url", False)
    assert "pw" not in outcome.error.detail


async def test_plain_http_where_tls_is_expected_is_an_error_of_ours() -> None:
    async with ScriptedProvider(Reply(Say("x"))) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url.replace("http://", "https://")))
    assert outcome.error is not None
    assert outcome.error.code == "tls_failed"


@pytest.mark.parametrize("key", ["line\nbreak-canary", "zero\x00canary"])
async def test_a_key_that_no_header_can_hold_is_not_told(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with ScriptedProvider(Reply(Say("x"))) as server, provider_client() as client:
        bad = Profile("p", server.base_url, "responses", "m", api_key=key)
        outcome = await run(client, bad)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("invalid_header", False)
    told = "".join(traceback.format_exception(outcome.error)) + caplog.text + repr(bad)
    assert "canary" not in told


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_no_key_no_argument_and_no_text_is_told_anywhere(
    protocol: Protocol, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret_header = "header-canary-77"
    quoting = {"error": {"message": f"Incorrect API key provided: {KEY} with {secret_header}", "code": "x"}}
    answers: list[Script] = [
        Reply(Say(CANARY), Call("lookup", {"key": CANARY})),
        answering(401, quoting),
        _stream_error(f"the key {KEY} and {secret_header} are bad"),
        Reply(Call("lookup", {"key": CANARY * 2_000})),
    ]
    told = []
    async with ScriptedProvider(answers) as server, provider_client() as client:
        to = profile(server.base_url, protocol, headers={"x-secret": secret_header})
        for _ in answers:
            attempt = client.attempt(to, ask(CANARY), run_id="r", step=1, attempt=1, run_deadline=None)
            try:
                async with attempt:
                    async for _events in attempt.events():
                        told.append(str(attempt.record.to_json()))
            except Exception as error:
                told += [repr(error), *traceback.format_exception(error), getattr(error, "detail", "")]
            told += [repr(attempt), repr(attempt.record), str(attempt.record.to_json()), repr(to)]
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"] * 4
    everything = "".join(told) + caplog.text
    for secret in (KEY, secret_header, CANARY):
        assert secret not in everything


def _stream_error(message: str) -> Script:
    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.event(
            {"type": "error", "error": {"type": "invalid_request_error", "message": message}}, "error"
        )

    return script


async def test_each_profile_sends_its_key_to_its_own_origin_only() -> None:
    async with (
        ScriptedProvider(Reply(Say("a"))) as one,
        ScriptedProvider(Reply(Say("b"))) as two,
        provider_client() as client,
    ):
        await run(client, Profile("one", one.base_url, "responses", "m", api_key="key-of-one"))
        await run(client, Profile("two", two.base_url, "responses", "m", api_key="key-of-two"))
        await run(client, Profile("none", one.base_url, "responses", "m"))
        assert [r.headers.get("authorization") for r in one.requests] == ["Bearer key-of-one", None]
        assert [r.headers.get("authorization") for r in two.requests] == ["Bearer key-of-two"]


async def test_the_environment_sends_nothing_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedProvider(Reply(Say("hi"))) as server, ScriptedProvider(Reply(Say("no"))) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.base_url)
        async with provider_client() as client:
            outcome = await run(client, profile(server.base_url))
        assert not proxy.requests
    assert outcome.response.text == "hi"


async def test_after_ten_failures_in_a_row_nothing_is_sent() -> None:
    breaker = Breaker()
    async with ScriptedProvider(answering(503, {})) as server, provider_client(breaker=breaker) as client:
        for _ in range(10):
            await run(client, profile(server.base_url))
        outcome = await run(client, profile(server.base_url))
        assert len(server.requests) == 10
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable) == ("provider_unavailable", True)
    assert outcome.error.retry_after is not None
    assert 0 < outcome.error.retry_after <= 30
    assert outcome.record["wire_responses"] == []


@pytest.mark.parametrize("status", [400, 401])
async def test_answers_that_are_final_show_an_endpoint_that_works(status: int) -> None:
    async with ScriptedProvider(answering(status, {})) as server, provider_client() as client:
        for _ in range(12):
            await run(client, profile(server.base_url))
        assert len(server.requests) == 12


async def test_a_run_that_ends_says_nothing_of_the_endpoint() -> None:
    clock, barrier, breaker = LeapingClock(), Barrier(), Breaker(failures=2)

    async def silent(request: ScriptedRequest, out: Out) -> None:
        await out.pause(barrier)

    scripts = [answering(503, {}), silent, answering(503, {})]
    async with (
        ScriptedProvider(scripts) as server,
        provider_client(breaker=breaker, clock=clock.time) as client,
    ):
        to = profile(server.base_url)
        await run(client, to)
        ending = asyncio.create_task(run(client, to, run_deadline=clock.time() + 100))
        await asyncio.wait_for(barrier.reached.wait(), SOON)
        clock.leap(100)
        await ending
        await run(client, to)
        outcome = await run(client, to)
    assert outcome.error is not None
    assert outcome.error.code == "provider_unavailable"
