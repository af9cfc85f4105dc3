"""A profile that fails for good gives way to its fallback; what the first one showed is void."""

from __future__ import annotations

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from tests.acceptance.conftest import define_profile
from tests.support.common_server import no_session_stays, server
from tests.support.fold import comparable
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

__all__ = ["no_session_stays", "server"]


async def broken(request: ScriptedRequest, out: Out) -> None:
    await out.json(500, {"error": {"message": "not today"}})


async def refused(request: ScriptedRequest, out: Out) -> None:
    await out.json(401, {"error": {"message": "who are you"}})


def test_an_exhausted_profile_is_followed_by_its_fallback_in_another_protocol(server: ServerProcess) -> None:
    with ScriptedThread([broken, broken]) as first, ScriptedThread([Reply(Say("from the second"))]) as second:
        fallback = define_profile(server, second.base_url, "chat_completions", api_key="key-of-second")
        profile = define_profile(
            server, first.base_url, "responses", api_key="key-of-first", max_retries=1, fallback=fallback
        )
        session = SessionClient.create(server, provider=profile)
        with session.follow() as follower:
            accepted = session.ask("hello")
            follower.until_answered(accepted["id"])
            assert [data["attempt"] for data in follower.of("retry")] == [1, 2]
            assert [data["code"] for data in follower.of("note")] == ["fallback_used"]
            assert comparable(follower.view) == comparable(session.snapshot())
        keys = [[request.headers["authorization"] for request in each.requests] for each in (first, second)]
    assert keys == [["Bearer key-of-first"] * 2, ["Bearer key-of-second"]]
    attempts = session.get("/attempts")["items"]
    assert [(item["provider"], item["attempt"], item["outcome"]) for item in attempts] == [
        (profile, 1, "failed"),
        (profile, 2, "failed"),
        (fallback, 3, "completed"),
    ]
    (run,) = session.get("/runs")["items"]
    assert (run["state"], run["provider"]) == ("completed", fallback)
    assert session.history()[-1]["content"] == [{"kind": "text", "text": "from the second"}]


def test_where_no_fallback_is_left_the_run_fails_with_a_safe_error(server: ServerProcess) -> None:
    with ScriptedThread([refused]) as only:
        profile = define_profile(server, only.base_url, "responses", api_key="canary-key-71c4")
        session = SessionClient.create(server, provider=profile)
        events = session.answer("hello")
    (ended,) = [event["data"] for event in events if event["type"] == "turn_completed"]
    (error,) = [event["data"] for event in events if event["type"] == "error"]
    assert ended["outcome"] == "failed"
    assert ended["error"]["code"] == error["code"] == "authentication_failed"
    assert error["retryable"] is False
    assert "canary" not in str(events)
    assert [event for event in events if event["type"] == "retry"] == []
