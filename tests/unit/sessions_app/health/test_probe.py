"""One question at a time, a bounded wait, and what is said meanwhile."""

from __future__ import annotations

import asyncio

from sessions_app.health.probe import CACHE_SECONDS, FRESH_SECONDS, PATIENCE_SECONDS, Faults, Probe
from tests.support.clock import LeapingClock

WELL = Faults()
ILL = Faults({"part"})


class Part:
    """Answers when it is let, and counts who asks."""

    def __init__(self) -> None:
        self.asked = 0
        self.begun = asyncio.Event()
        self.answering = asyncio.Event()
        self.answering.set()
        self.failing = False

    async def __call__(self) -> Faults:
        self.asked += 1
        self.begun.set()
        await self.answering.wait()
        if self.failing:
            raise ConnectionError("gone")
        return WELL

    def fall_silent(self) -> None:
        self.begun.clear()
        self.answering.clear()


async def test_many_who_ask_share_one_question() -> None:
    part = Part()
    probe = Probe("part", part)
    assert await asyncio.gather(*(probe.faults() for _ in range(50))) == [WELL] * 50
    assert part.asked == 1


async def test_an_answer_is_good_for_a_moment_and_no_longer() -> None:
    clock, part = LeapingClock(), Part()
    probe = Probe("part", part)
    await probe.faults()
    part.failing = True
    assert await probe.faults() == WELL
    clock.leap(CACHE_SECONDS)
    assert await probe.faults() == ILL
    part.failing = False
    clock.leap(CACHE_SECONDS)
    assert await probe.faults() == WELL


async def test_a_part_that_falls_silent_is_at_fault_when_patience_is_over() -> None:
    clock, part = LeapingClock(), Part()
    probe = Probe("part", part)
    await probe.faults()
    part.fall_silent()
    clock.leap(CACHE_SECONDS)
    asking = asyncio.create_task(probe.faults())
    await part.begun.wait()
    # It was well a moment ago, and may only be slow.
    assert await asking == WELL
    clock.leap(PATIENCE_SECONDS)
    assert await probe.faults() == ILL
    assert part.asked == 2


async def test_a_part_that_was_not_asked_for_long_gets_all_the_patience() -> None:
    clock, part = LeapingClock(), Part()
    probe = Probe("part", part)
    await probe.faults()
    part.fall_silent()
    clock.leap(FRESH_SECONDS)
    asking = asyncio.create_task(probe.faults())
    await part.begun.wait()
    clock.leap(PATIENCE_SECONDS)
    assert await asking == ILL


async def test_while_a_question_hangs_no_other_one_is_put_and_its_answer_counts() -> None:
    clock, part = LeapingClock(), Part()
    part.fall_silent()
    probe = Probe("part", part)
    asking = asyncio.create_task(probe.faults())
    await part.begun.wait()
    clock.leap(PATIENCE_SECONDS)
    assert await asking == ILL
    assert await asyncio.gather(*(probe.faults() for _ in range(50))) == [ILL] * 50
    assert part.asked == 1
    part.answering.set()
    while await probe.faults() == ILL:
        await asyncio.sleep(0)
    assert part.asked == 1


async def test_who_goes_away_takes_nobody_s_answer_along() -> None:
    part = Part()
    part.fall_silent()
    probe = Probe("part", part)
    one, two = asyncio.create_task(probe.faults()), asyncio.create_task(probe.faults())
    await part.begun.wait()
    one.cancel()
    part.answering.set()
    assert await two == WELL
    assert part.asked == 1
