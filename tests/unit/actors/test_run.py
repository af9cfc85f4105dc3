from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from streaming.actors.run import Ask, AttemptFailed, Call, Finish, Record, Run, Steer, Wait
from streaming.providers.types import StepResponse

TEXT = StepResponse(text="done")


def failure(retry_seconds: float | None, *, fallback: bool = False) -> AttemptFailed:
    return AttemptFailed("reset", "the connection broke", True, retry_seconds, fallback)


def test_a_response_without_calls_completes_the_run_once_it_is_durable() -> None:
    run = Run(max_steps=5)
    assert run.begin() == Ask(1, 1)
    assert run.responded(TEXT) == Record(1, 1, TEXT)
    assert run.recorded([]) == Finish("completed")


def test_calls_run_one_after_the_other_in_order_and_then_the_next_step_is_asked() -> None:
    run = Run(max_steps=5)
    first, second = uuid4(), uuid4()
    run.begin()
    assert run.recorded([first, second]) == Call(first)
    assert run.call_ended() == Call(second)
    assert run.call_ended() == Steer()
    assert run.steered() == Ask(2, 1)


def test_a_retry_waits_and_asks_the_same_step_as_the_next_attempt() -> None:
    run = Run(max_steps=5)
    run.begin()
    assert run.failed(failure(1.5)) == Wait(1, 1, 1.5, "reset", "the connection broke")
    assert run.waited() == Ask(1, 2, profile_attempt=2)


def test_a_profile_given_up_is_followed_by_its_fallback_with_a_count_of_its_own() -> None:
    run = Run(max_steps=5)
    run.begin()
    run.failed(failure(0.1))
    run.waited()
    assert run.failed(failure(None, fallback=True)) == Wait(1, 2, 0.0, "reset", "the connection broke")
    assert run.waited() == Ask(1, 3, fallback=1)


def test_a_failure_without_retry_or_fallback_fails_the_run_with_its_code() -> None:
    run = Run(max_steps=5)
    run.begin()
    ended = run.failed(failure(None))
    assert isinstance(ended, Finish)
    assert ended.state == "failed"
    assert ended.error == {"code": "reset", "detail": "the connection broke", "retryable": True}


def test_a_run_that_never_stops_calling_is_failed_at_its_bound() -> None:
    run = Run(max_steps=3)
    run.begin()
    for step in (2, 3):
        run.recorded([uuid4()])
        run.call_ended()
        assert run.steered() == Ask(step, 1)
    run.recorded([uuid4()])
    run.call_ended()
    ended = run.steered()
    assert isinstance(ended, Finish)
    assert ended.error is not None
    assert (ended.state, ended.error["code"]) == ("failed", "step_limit")


@pytest.mark.parametrize("calls", [[uuid4()], [uuid4(), uuid4()]])
def test_a_draining_run_starts_no_call_of_the_step_that_it_ended(calls: list[UUID]) -> None:
    run = Run(max_steps=5)
    run.begin()
    run.drain()
    ended = run.recorded(calls)
    assert isinstance(ended, Finish)
    assert ended.error is not None
    assert (ended.state, ended.error["code"]) == ("interrupted", "shutdown")


def test_a_draining_run_whose_last_step_had_no_calls_is_completed() -> None:
    run = Run(max_steps=5)
    run.begin()
    run.drain()
    assert run.recorded([]) == Finish("completed")


def test_a_draining_run_does_not_retry() -> None:
    run = Run(max_steps=5)
    run.begin()
    run.drain()
    assert isinstance(run.failed(failure(0.5)), Finish)


def test_a_run_told_to_drain_between_two_steps_asks_no_further_one() -> None:
    run = Run(max_steps=5)
    run.begin()
    run.recorded([uuid4()])
    assert run.call_ended() == Steer()
    run.drain()
    assert isinstance(run.steered(), Finish)
