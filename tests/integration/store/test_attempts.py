"""Records of attempts that a vanished actor left open."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.ids import new_id
from sessions_app.models import ProviderAttempt, Session
from sessions_app.store import attempts, runs
from sessions_app.store.claims import claim as claim_session
from tests.support.store import accepted, claimed


def record(phase: str, **facts: Any) -> dict[str, Any]:
    return {
        "step": 1,
        "attempt": 1,
        "provider": "p",
        "model": "m",
        "protocol": "responses",
        "started_at": timezone.now().isoformat(),
        "ended_at": None,
        "outcome": None,
        "phase": phase,
        "failure_phase": None,
        "cancel_phase": None,
        "cancel_reason": None,
        "error_class": None,
        **facts,
    }


def closed_by_the_next_actor(session: Session, alice: User, left: dict[str, Any]) -> dict[str, Any]:
    """The record after the actor that wrote `left` vanished and another one came."""
    claim = claimed(session)
    accepted(session, alice)
    taken = runs.start_run(claim.fence)
    assert taken is not None
    attempt_id: UUID = new_id()
    attempts.save_attempt(claim.fence, attempt_id, taken.run.id, left)
    Session.objects.filter(id=session.id).update(lease_until=None)
    assert claim_session(session.id, host="two", channel="b", lease_seconds=60) is not None
    row = ProviderAttempt.objects.get(id=attempt_id)
    assert (row.outcome, row.ended_at is not None) == ("cancelled", True)
    return dict(row.record)


@pytest.mark.parametrize(
    "left",
    [
        record("generating_text"),
        record("retry_wait", outcome="failed", failure_phase="connecting", error_class="connection_failed"),
    ],
    ids=["generating", "waiting"],
)
def test_an_attempt_left_open_is_cancelled_in_its_phase_and_no_other(
    session: Session, alice: User, left: dict[str, Any]
) -> None:
    ended = closed_by_the_next_actor(session, alice, left)
    assert (ended["outcome"], ended["cancel_reason"]) == ("cancelled", "lease_lost")
    assert (ended["cancel_phase"], ended["failure_phase"]) == (left["phase"], None)
    assert ended["error_class"] == left["error_class"]
    assert ended["cancel_observed_at"] <= ended["ended_at"]
