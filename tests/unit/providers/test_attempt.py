"""An attempt as its driver sees it: read once, settled once, whatever way it is left."""

from __future__ import annotations

import pytest

from streaming.providers.events import Completed
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_parts import Say
from tests.support.provider_attempts import ask, profile, provider_client


async def test_nothing_is_sent_before_events_are_asked_for() -> None:
    async with ScriptedProvider(Reply(Say("hi"))) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        async with attempt:
            assert attempt.record.to_json()["outcome"] is None
        assert not server.requests
    record = attempt.record.to_json()
    assert (record["outcome"], record["cancel_reason"]) == ("cancelled", "superseded")


async def test_the_transport_is_closed_before_completion_is_handed_out() -> None:
    async with ScriptedProvider(Reply(Say("hi"))) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        async with attempt:
            async for events in attempt.events():
                if isinstance(events[-1], Completed):
                    shown = attempt.record.to_json()
    assert shown["wire_responses"][0]["closed_at"]
    assert shown["outcome"] == "completed"


async def test_an_attempt_is_read_once() -> None:
    async with ScriptedProvider(Reply(Say("hi"))) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        async with attempt:
            attempt.events()
            with pytest.raises(AssertionError):
                attempt.events()


async def test_a_consumer_that_leaves_early_has_superseded_it() -> None:
    async with ScriptedProvider(Reply(Say("hello", 1))) as server, provider_client() as client:
        attempt = client.attempt(
            profile(server.base_url), ask(), run_id="r", step=1, attempt=1, run_deadline=None
        )
        async with attempt:
            async for events in attempt.events():
                if not isinstance(events[-1], Completed):
                    break
    assert attempt.record.outcome in ("cancelled", "completed")
    assert attempt.record.to_json()["wire_responses"][0]["closed_at"]
