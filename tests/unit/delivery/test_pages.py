from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from sessions_app.live import Cursor
from sessions_app.problems import LiveUnavailable
from streaming.delivery.pages import Pages
from tests.unit.delivery.facts import until

SESSION = UUID(int=1)


class Source:
    """A fetch that waits until it may answer."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.may_answer = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self, session_id: UUID, cursor: Cursor | None, tail: int) -> dict[str, Any]:
        self.asked.append((cursor, tail))
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        attach = {"verdict": "replay", "reason": None, "oldest": 1, "newest": 9}
        return {"generation": "1-a", "cursor": 9, "events": [], "attach": attach, "more": False}


async def test_those_at_one_cursor_share_one_page_and_later_ones_get_their_own() -> None:
    source = Source()
    pages, at = Pages(source), Cursor("1-a", 3)
    asking = [asyncio.create_task(pages.get(SESSION, at, 100)) for _ in range(10)]
    asking.append(asyncio.create_task(pages.get(SESSION, Cursor("1-a", 4), 100)))
    asking.append(asyncio.create_task(pages.get(SESSION, at, 50)))
    await asyncio.sleep(0)
    source.may_answer.set()
    found = await asyncio.gather(*asking)
    assert len(source.asked) == 3
    assert len({id(page) for page in found[:10]}) == 1
    await pages.get(SESSION, at, 100)
    assert len(source.asked) == 4


async def test_one_that_leaves_takes_the_page_from_nobody() -> None:
    source = Source()
    pages = Pages(source)
    first, second = [asyncio.create_task(pages.get(SESSION, None, 100)) for _ in range(2)]
    await asyncio.sleep(0)
    first.cancel()
    source.may_answer.set()
    assert (await second).newest == 9


async def test_a_failure_is_told_to_all_and_not_kept() -> None:
    source = Source()
    source.may_answer.set()
    source.error = LiveUnavailable()
    pages = Pages(source)
    outcomes = await asyncio.gather(
        *(pages.get(SESSION, None, 100) for _ in range(3)), return_exceptions=True
    )
    assert all(isinstance(outcome, LiveUnavailable) for outcome in outcomes)
    source.error = None
    assert (await pages.get(SESSION, None, 100)).cursor == Cursor("1-a", 9)


async def test_a_failure_that_nobody_waits_for_is_quiet() -> None:
    source = Source()
    source.error = LiveUnavailable()
    pages = Pages(source)
    lonely = asyncio.create_task(pages.get(SESSION, None, 100))
    await asyncio.sleep(0)
    lonely.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lonely
    source.may_answer.set()
    await until(lambda: pages._under_way == {}, "the page is forgotten")
