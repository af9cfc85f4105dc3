from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streaming.actors import channel


class FailingLayer:
    """Fails as often as it is told, then has one message."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def receive(self, name: str) -> dict[str, Any]:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("away")
        return {"type": "actor.wake", "channel": name}


async def test_a_layer_that_fails_for_a_while_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_RETRY_SECONDS", 0)
    layer = FailingLayer(3)
    assert (await channel.receive(layer, "actor!x"))["channel"] == "actor!x"
    assert layer.failures == 0


async def test_a_cancellation_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_RETRY_SECONDS", 1_000)
    task = asyncio.create_task(channel.receive(FailingLayer(1), "actor!x"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
