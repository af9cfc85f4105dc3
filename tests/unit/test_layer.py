"""Layers that refuse, fail or never answer, and what whoever uses them sees of it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from uuid import UUID

import pytest
from channels.exceptions import ChannelFull

from streaming import layer as layers
from streaming.layer import Message, complain, join_patiently, listen, new_channel, send, session_group


class FailingLayer:
    """Each part fails as often as it is told; then it works."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.messages: asyncio.Queue[Message] = asyncio.Queue()

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("away")

    async def send(self, channel: str, message: Message) -> None:
        self._fail()
        self.messages.put_nowait(message)

    async def receive(self, channel: str) -> Message:
        self._fail()
        return await self.messages.get()

    async def new_channel(self, prefix: str) -> str:
        self._fail()
        return f"{prefix}!1"

    async def group_add(self, group: str, channel: str) -> None:
        self._fail()


class SilentLayer:
    """Takes a message and never says so, as a server does that is stopped or behind a dead line."""

    async def send(self, channel: str, message: Message) -> None:
        await asyncio.Event().wait()


class FullLayer:
    async def send(self, channel: str, message: Message) -> None:
        raise ChannelFull


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "RETRY_SECONDS", 0)
    monkeypatch.setattr(layers, "_told", {})


async def taken(layer: Any, count: int, take: Any, lost: Any = lambda: None) -> None:
    """Until `take` has had `count` messages."""
    had, enough = 0, asyncio.Event()

    async def counted(message: Message) -> None:
        nonlocal had
        had += 1
        try:
            await take(message)
        finally:
            if had == count:
                enough.set()

    task = asyncio.create_task(listen(layer, "one", counted, lost))
    async with asyncio.timeout(30):
        await enough.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_a_layer_that_fails_for_a_while_is_waited_for_and_the_loss_is_told() -> None:
    layer, heard, losses = FailingLayer(3), [], []
    layer.messages.put_nowait({"type": "one"})

    async def take(message: Message) -> None:
        heard.append(message["type"])

    await taken(layer, 1, take, lambda: losses.append(1))
    assert (heard, len(losses)) == (["one"], 3)


async def test_a_message_that_cannot_be_handled_ends_no_listening() -> None:
    layer, heard = FailingLayer(), []
    for message in ({"type": "odd"}, {"type": "good", "text": "x"}):
        layer.messages.put_nowait(message)

    async def take(message: Message) -> None:
        heard.append(message["text"])

    await taken(layer, 2, take)
    assert heard == ["x"]


async def test_a_message_is_taken_or_not_and_nothing_is_raised() -> None:
    layer = FailingLayer(1)
    assert not await send(layer, "one", {"type": "lost"})
    assert await send(layer, "one", {"type": "kept"})
    assert layer.messages.get_nowait() == {"type": "kept"}


async def test_nobody_waits_long_for_a_layer_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "PATIENCE_SECONDS", 0.01)
    async with asyncio.timeout(30):
        assert not await send(SilentLayer(), "one", {"type": "a"})


async def test_a_full_channel_is_no_fault_of_the_layer(caplog: pytest.LogCaptureFixture) -> None:
    assert not await send(FullLayer(), "one", {"type": "a"})
    assert caplog.records == []


async def test_a_channel_and_a_membership_are_asked_for_until_they_are_given() -> None:
    assert await new_channel(FailingLayer(3), "hub") == "hub!1"
    layer = FailingLayer(3)
    await join_patiently(layer, "group", "hub!1")
    assert layer.failures == 0


async def test_a_long_outage_is_told_seldom_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            complain("nothing was sent", ConnectionError("with a secret"))
        monkeypatch.setattr(layers, "COMPLAIN_SECONDS", 0.0)
        complain("nothing was sent", TimeoutError())
    assert [record.getMessage() for record in caplog.records] == [
        "nothing was sent: ConnectionError",
        "nothing was sent: TimeoutError (99 more before)",
    ]


def test_a_group_is_named_after_its_session() -> None:
    assert session_group(UUID(int=1)) == "session.00000000000000000000000000000001"
