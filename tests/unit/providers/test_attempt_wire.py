"""The formal end of a body: present, late, or cut off behind all that mattered."""

from __future__ import annotations

import pytest

from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from streaming.providers.types import Protocol
from tests.support.provider_attempts import PROTOCOLS, profile, provider_client, run


@pytest.mark.parametrize("how", ["abort", "cut", "end"])
async def test_behind_the_announced_finish_any_end_will_do(how: str) -> None:
    frames = [frame for frame in Reply(Say("Hi")).frames("chat_completions") if b"[DONE]" not in frame]

    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.write(b"".join(frames))
        if how == "abort":
            out.abort()
        elif how == "cut":
            out.cut()

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, "chat_completions"))
    assert outcome.response.text == "Hi"
    assert outcome.record["outcome"] == "completed"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_server_that_does_not_hang_up_is_not_waited_for(protocol: Protocol) -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        for frame in Reply(Say("Hi")).frames(protocol):
            await out.write(frame)
        await request.closed.wait()

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol))
    assert outcome.response.text == "Hi"
    assert outcome.wire["body_eof_observed"] is False
    assert outcome.wire["closed_at"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_follows_the_terminal_event_is_dropped(protocol: Protocol) -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        body = b"".join(Reply(Say("Hi")).frames(protocol))
        await out.write(body + b"".join(Reply(Say("canary")).frames(protocol)))

    async with ScriptedProvider(script) as server, provider_client() as client:
        outcome = await run(client, profile(server.base_url, protocol))
    assert outcome.response.text == "Hi"
    assert "canary" not in str(outcome.events)
