from __future__ import annotations

from streaming.actors.rest import Rest


def rest() -> Rest:
    return Rest(idle_seconds=600, kernel_idle_seconds=1_800, now=0)


def test_an_actor_nobody_wants_leaves_after_its_time() -> None:
    resting = rest()
    assert resting.judge(599, busy=False, kernel=False, watched=False) == "stay"
    assert resting.judge(600, busy=False, kernel=False, watched=False) == "leave"


def test_a_watcher_keeps_the_actor_but_not_its_kernel() -> None:
    resting = rest()
    assert resting.judge(1_799, busy=False, kernel=True, watched=True) == "stay"
    assert resting.judge(1_800, busy=False, kernel=True, watched=True) == "cull"
    assert resting.judge(9_000, busy=False, kernel=False, watched=True) == "stay"


def test_work_keeps_both_and_starts_the_count_anew() -> None:
    resting = rest()
    assert resting.judge(5_000, busy=True, kernel=True, watched=False) == "stay"
    assert resting.judge(6_799, busy=False, kernel=True, watched=False) == "stay"
    assert resting.judge(6_800, busy=False, kernel=True, watched=False) == "cull"


def test_an_actor_leaves_its_own_time_after_its_kernel_went() -> None:
    resting = rest()
    assert resting.judge(1_800, busy=False, kernel=True, watched=False) == "cull"
    assert resting.judge(2_399, busy=False, kernel=False, watched=False) == "stay"
    assert resting.judge(2_400, busy=False, kernel=False, watched=False) == "leave"
