"""Diagnostics and artifacts: read in their session alone, and shown without harm."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from sessions_app.models import Artifact, ProviderAttempt, Run
from sessions_app.store.executor import read
from streaming.providers.record import AttemptRecord, StreamGuard, WireResponse, request_constraints
from streaming.providers.types import Profile, ToolSpec
from tests.integration.api.callers import Caller, fresh, problem, told
from tests.integration.api.rows import add_call, add_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def path(alice: Caller) -> str:
    return f"/api/sessions/{(await alice.make_session())['id']}"


def full_record() -> dict[str, Any]:
    """A record as the runtime writes it, with something in each of its parts."""
    profile, tool = (
        Profile("demo", "http://x/v1", "responses", "m"),
        ToolSpec("python", "", {"type": "object"}),
    )
    record = AttemptRecord(
        "id",
        "run",
        1,
        99,
        "p",
        "m",
        "responses",
        timezone.now,
        timezone.now(),
        request_constraints(profile, [tool]),
    )
    record.wire_responses = [WireResponse(timezone.now(), status=200), WireResponse(timezone.now())]
    record.wire_responses[0].tool(0).name = "python"
    record.wire_responses[1].close_error_type = "TimeoutError"
    record.stream_guard = StreamGuard("runaway", "python", 8_192, 8_193)
    record.observe_cancel("user_stop", scope="run")
    return record.to_json()


def add_attempt(run: Run, attempt: int) -> ProviderAttempt:
    return ProviderAttempt.objects.create(
        session_id=run.session_id,
        run=run,
        step=1,
        attempt=attempt,
        provider="demo",
        model="m",
        protocol="responses",
        started_at=timezone.now(),
        record=full_record(),
    )


async def test_attempts_are_listed_oldest_first_with_their_records(alice: Caller, path: str) -> None:
    session_id = path.rsplit("/", 1)[1]
    runs = [await read(add_run, session_id, state="completed") for _ in range(2)]
    made = [await read(add_attempt, run, number) for run in runs for number in (1, 2)]
    first = told(await alice.get(f"{path}/attempts?limit=3"))
    rest = told(await alice.get(f"{path}/attempts?limit=3&next={first['next']}"))
    assert [item["id"] for item in first["items"] + rest["items"]] == [str(row.id) for row in made]
    shown = first["items"][0]
    assert (shown["attempt"], shown["cancel_reason"], shown["outcome"]) == (1, "user_stop", None)
    one = told(await alice.get(f"{path}/attempts?run_id={runs[1].id}"))
    assert [item["id"] for item in one["items"]] == [str(row.id) for row in made[2:]]
    assert told(await alice.get(f"{path}/attempts/{made[0].id}")) == shown
    problem(await alice.get(f"{path}/attempts/{fresh()}"), 404, "not_found")
    problem(await alice.get(f"{path}/attempts?run_id=x"), 404, "not_found")


def add_artifact(session_id: str, mime_type: str) -> Artifact:
    run = Run.objects.filter(session_id=session_id).first() or add_run(session_id)
    call = add_call(session_id, run, "{}")
    return Artifact.objects.create(
        session_id=call.session_id,
        tool_call=call,
        mime_type=mime_type,
        data=b"<script>alert(1)</script>",
        size_bytes=25,
        created_at=timezone.now(),
    )


@pytest.mark.parametrize(
    ("mime_type", "content_type", "disposition"),
    [
        ("image/png", "image/png", "inline"),
        ("text/html", "text/html; charset=utf-8", "attachment"),
        ("image/svg+xml", "image/svg+xml; charset=utf-8", "attachment"),
        ("application/javascript", "application/octet-stream", "attachment"),
        ("text/html\r\nX-Evil: 1", "application/octet-stream", "attachment"),
    ],
)
async def test_an_artifact_can_do_nothing(
    alice: Caller, path: str, mime_type: str, content_type: str, disposition: str
) -> None:
    artifact = await read(add_artifact, path.rsplit("/", 1)[1], mime_type)
    answer = await alice.get(f"{path}/artifacts/{artifact.id}")
    assert answer.content == b"<script>alert(1)</script>"
    assert answer["Content-Type"] == content_type
    assert answer["Content-Disposition"] == disposition
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    other = (await alice.make_session())["id"]
    problem(await alice.get(f"/api/sessions/{other}/artifacts/{artifact.id}"), 404, "not_found")
