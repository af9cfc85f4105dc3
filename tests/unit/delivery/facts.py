"""Waiting for facts, with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

SECONDS = 40.0


async def until(fact: Callable[[], object], what: str) -> None:
    """Return as soon as `fact()` is true; fail with `what` where it never is."""
    try:
        async with asyncio.timeout(SECONDS):
            while not fact():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {SECONDS:g} s") from None
