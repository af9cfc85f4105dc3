from __future__ import annotations

import asyncio

import pytest

from streaming.delivery import turns
from streaming.delivery.turns import Turns
from tests.unit.delivery.facts import until


async def never() -> None:
    await asyncio.Event().wait()


async def test_so_many_at_a_time_and_the_others_in_the_order_in_which_they_came() -> None:
    gate, inside, order = Turns(2), set[int](), list[int]()
    done = [asyncio.Event() for _ in range(6)]

    async def attach(number: int) -> None:
        async with gate.take(never):
            order.append(number)
            inside.add(number)
            await done[number].wait()
            inside.discard(number)

    tasks = [asyncio.create_task(attach(number)) for number in range(6)]
    for number in range(6):
        await until(lambda: inside == {n for n in (number, number + 1) if n < 6}, "two at a time")  # noqa: B023
        done[number].set()
    await asyncio.gather(*tasks)
    assert order == list(range(6))


async def test_who_has_attached_leaves_while_its_stream_goes_on() -> None:
    gate = Turns(1)
    async with gate.take(never) as first:
        assert first is not None
        first.leave()
        first.leave()
        async with gate.take(never), asyncio.timeout(30):
            waiting = asyncio.create_task(gate._places.acquire())
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()


async def test_who_takes_long_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "HOLD_SECONDS", 0.01)
    gate = Turns(1)
    async with gate.take(never), asyncio.timeout(30), gate.take(never):
        pass
    # Both have come back, and there is no more than one place.
    async with gate.take(never):
        assert gate._places.locked()


async def test_a_place_comes_back_from_who_failed() -> None:
    gate = Turns(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with gate.take(never):
                raise ZeroDivisionError
    assert not gate._places.locked()


async def test_who_has_left_while_waiting_gets_no_turn_and_takes_none() -> None:
    gate, gone = Turns(1), asyncio.Event()

    async def attach() -> bool:
        async with gate.take(gone.wait) as turn:
            return turn is not None

    async with gate.take(never) as first:
        assert first is not None
        leaving = [asyncio.create_task(attach()) for _ in range(3)]
        await asyncio.sleep(0)
        gone.set()
        assert await asyncio.gather(*leaving) == [False] * 3
        # At the very moment at which a place comes free, too.
        late = asyncio.create_task(attach())
        await asyncio.sleep(0)
        first.leave()
        assert await late is False
    assert not gate._places.locked()


async def test_who_is_cancelled_while_waiting_takes_no_place() -> None:
    gate = Turns(1)

    async def attach() -> None:
        async with gate.take(never):
            raise AssertionError("there was no place")

    async with gate.take(never) as first:
        assert first is not None
        waiting = asyncio.create_task(attach())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert not gate._places.locked()
