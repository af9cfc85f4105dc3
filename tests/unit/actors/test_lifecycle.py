from __future__ import annotations

import pytest

from streaming.actors.lifecycle import MESSAGES, PHASES, TRANSITIONS, IllegalTransition, advance


def test_every_pair_of_phase_and_message_is_named() -> None:
    assert set(TRANSITIONS) == set(PHASES)
    for phase in PHASES:
        assert set(TRANSITIONS[phase]) == set(MESSAGES), phase


def test_every_named_target_is_a_phase() -> None:
    targets = {to for row in TRANSITIONS.values() for to in row.values() if to is not None}
    assert targets == set(PHASES)


def test_from_every_phase_the_end_is_idle() -> None:
    assert {advance(phase, "finish") for phase in PHASES} == {"idle"}


def test_a_stopped_run_stays_interrupting_until_it_ends() -> None:
    assert {advance("interrupting", message) for message in ("ask", "call", "hold", "interrupt")} == {
        "interrupting"
    }


def test_a_stop_without_a_run_changes_nothing() -> None:
    assert advance("idle", "interrupt") == "idle"


def test_a_pair_that_must_not_meet_raises() -> None:
    with pytest.raises(IllegalTransition, match="call while idle"):
        advance("idle", "call")
