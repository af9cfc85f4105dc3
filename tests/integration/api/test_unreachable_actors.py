"""A session whose actor lives and cannot be asked: what the database last heard of it is what is told."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.utils import timezone

from sessions_app.models import ProviderAttempt, Run, Session, ToolCall
from sessions_app.store import claims, runs
from sessions_app.store.executor import read, write
from tests.integration.api.callers import Caller, told


async def phase(caller: Caller, session_id: str) -> str:
    shown = told(await caller.get(f"/api/sessions/{session_id}?tail=0"))
    return str(shown["status"]["phase"])


def work_begun(session_id: UUID) -> claims.Claim:
    """An actor with a run."""
    claim = claims.claim(session_id, host="one", channel="actor.one", lease_seconds=600)
    assert claim is not None
    assert runs.start_run(claim.fence) is not None
    return claim


def attempt_opened() -> ProviderAttempt:
    run = Run.objects.get()
    facts = {"provider": "p", "model": "m", "protocol": "responses", "started_at": timezone.now()}
    return ProviderAttempt.objects.create(session=run.session, run=run, step=1, attempt=1, **facts)


def call_begun() -> ToolCall:
    ProviderAttempt.objects.update(ended_at=timezone.now())
    run = Run.objects.get()
    place = {"generation": 1, "step": 1, "attempt": 1, "output_index": 0, "created_at": timezone.now()}
    names = {"call_id": "c", "tool_call_id": "t", "name": "python"}
    return ToolCall.objects.create(
        session=run.session, run=run, state=ToolCall.State.RUNNING, **place, **names
    )


async def test_a_run_is_told_where_it_was_last_seen(alice: Caller) -> None:
    session = await alice.make_session()
    await alice.send("POST", f"/api/sessions/{session['id']}/inputs", {"text": "go"})
    claim = await write(work_begun, UUID(session["id"]))
    assert await phase(alice, session["id"]) == "preparing"
    await write(attempt_opened)
    assert await phase(alice, session["id"]) == "generating"
    await write(call_begun)
    assert await phase(alice, session["id"]) == "running"
    run_id = (await read(Run.objects.get)).id
    await alice.send(
        "POST", f"/api/sessions/{session['id']}/interrupt", {"run_id": str(run_id), "through_input_order": 0}
    )
    assert await phase(alice, session["id"]) == "interrupting"
    await write(claims.abandon, claim.fence)


async def test_where_no_actor_lives_nothing_is_said_to_go_on(alice: Caller) -> None:
    session = await alice.make_session()
    await alice.send("POST", f"/api/sessions/{session['id']}/inputs", {"text": "go"})
    claim = await write(work_begun, UUID(session["id"]))
    await write(attempt_opened)
    await write(claims.abandon, claim.fence)
    assert await phase(alice, session["id"]) == "preparing"


@pytest.fixture(autouse=True)
def _rows(transactional_db: None) -> None:
    assert Session.objects.count() == 0
