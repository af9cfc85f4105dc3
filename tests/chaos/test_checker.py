"""The checker passes every history that keeps the promises, and finds each way to break one."""

from __future__ import annotations

import sys
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chaos import corruptions_inputs, corruptions_settled, corruptions_stream
from tests.chaos.checker import RULES, check
from tests.chaos.corruption import CORRUPTIONS
from tests.chaos.good_history import good_history
from tests.chaos.history import Final, History, LedgerLine, digest

# Their functions register themselves.
SOURCES = (corruptions_inputs, corruptions_settled, corruptions_stream)

SEEDS = st.integers(0, 2**32)


def test_a_good_history_passes() -> None:
    assert check(good_history(1)) == []


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_a_broken_history_breaks_exactly_its_rule(kind: str) -> None:
    rule, corrupt = CORRUPTIONS[kind]
    history = good_history(1)
    corrupt(history, Random(1))
    assert {violation.rule for violation in check(history)} == {rule}


def test_every_rule_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, _ in CORRUPTIONS.values()} == RULES


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, sessions=st.integers(1, 3), steps=st.integers(0, 20))
def test_made_up_good_histories_pass(seed: int, sessions: int, steps: int) -> None:
    assert check(good_history(seed, sessions, steps)) == []


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS, kind=st.sampled_from(sorted(CORRUPTIONS)), steps=st.integers(0, 20))
def test_any_single_corruption_is_found(seed: int, kind: str, steps: int) -> None:
    rule, corrupt = CORRUPTIONS[kind]
    history = good_history(seed, 2, steps)
    corrupt(history, Random(seed))
    assert rule in {violation.rule for violation in check(history)}


def test_a_busy_session_that_somebody_holds_is_no_violation() -> None:
    history = good_history(1)
    final = history.finals[0]
    final.phase, final.lease_live, final.pending = "running", True, 1
    final.runs[-1].state = "running"
    assert check(history) == []


def test_of_a_deleted_session_only_what_was_seen_counts() -> None:
    history = good_history(1)
    history.finals[0] = Final(history.finals[0].session, deleted=True)
    assert check(history) == []
    history.ledger.append(LedgerLine(history.ledger[0].nonce, 8, 9.0))
    assert {violation.rule for violation in check(history)} == {5}


def test_the_work_grows_with_the_history_and_not_faster() -> None:
    small, large = (steps_of(good_history(1, sessions, 20)) for sessions in (4, 40))
    sizes = [size_of(good_history(1, sessions, 20)) for sessions in (4, 40)]
    assert large / small < 1.3 * sizes[1] / sizes[0]


def test_the_work_grows_with_one_long_session_and_not_faster() -> None:
    small, large = (steps_of(good_history(1, 1, steps)) for steps in (200, 2_000))
    sizes = [size_of(good_history(1, 1, steps)) for steps in (200, 2_000)]
    assert large / small < 1.3 * sizes[1] / sizes[0]


def test_an_event_has_one_digest_whatever_the_order_of_its_keys() -> None:
    one, other = {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}
    assert digest(one) == digest(other) != digest({"a": 1})


def size_of(history: History) -> int:
    seen = sum(len(reading.log) for reading in history.readings)
    lasting = sum(len(final.entries) for final in history.finals)
    return len(history.operations) + len(history.ledger) + seen + lasting


def steps_of(history: History) -> int:
    """How many lines of Python the check runs: work, counted without a clock."""
    count = 0

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        assert check(history) == []
    finally:
        sys.settrace(before)
    return count
