"""Ending tasks for sure: a cancellation may get lost on its way.

A library that meets it in the moment of its own timeout or result may go on with that one. So whoever loops
around such a library asks again, and whoever ends tasks says it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

# Longer than any task may take that finishes a last write: that one heard it the first time.
AGAIN_SECONDS = 8.0


def heed() -> None:
    """Raise CancelledError where the running task was told to go and is still there."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def ended(tasks: Iterable[asyncio.Task[Any]], again_seconds: float = AGAIN_SECONDS) -> None:
    """Cancel tasks and return when all are over, whatever came of them."""
    tasks = list(tasks)
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again_seconds)
    await asyncio.gather(*tasks, return_exceptions=True)
