from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.exceptions import ChannelFull

from streaming.delivery import memory_layer
from streaming.delivery.memory_layer import MemoryChannelLayer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_group_reaches_every_member_and_only_while_they_are_members() -> None:
    layer = MemoryChannelLayer()
    for channel in ("one", "two"):
        await layer.group_add("group", channel)
    await layer.group_send("group", {"type": "a"})
    await layer.group_discard("group", "two")
    await layer.group_send("group", {"type": "b"})
    assert [(await layer.receive("one"))["type"] for _ in range(2)] == ["a", "b"]
    assert (await layer.receive("two"))["type"] == "a"
    assert "two" not in layer.channels


async def test_a_full_channel_refuses_a_send_and_loses_a_group_message() -> None:
    layer = MemoryChannelLayer(capacity=2)
    await layer.group_add("group", "one")
    for _ in range(3):
        await layer.group_send("group", {"type": "a"})
    with pytest.raises(ChannelFull):
        await layer.send("one", {"type": "b"})
    assert layer.channels["one"].qsize() == 2


async def test_nested_messages_are_copied_deeply_and_flat_ones_share_their_text() -> None:
    layer = MemoryChannelLayer()
    text = "x" * 10_000
    nested: dict[str, Any] = {"type": "a", "list": [1]}
    await layer.send("one", nested)
    await layer.send("one", {"type": "b", "text": text})
    nested["list"].append(2)
    assert (await layer.receive("one"))["list"] == [1]
    assert (await layer.receive("one"))["text"] is text


async def test_cleaning_happens_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cleaned = Clock(), []
    layer = MemoryChannelLayer(clock=clock)
    original = layer._clean_channel

    def counted(name: str, now: float) -> None:
        cleaned.append(name)
        original(name, now)

    monkeypatch.setattr(layer, "_clean_channel", counted)
    await layer.send("one", {"type": "a"})
    clock.now += memory_layer.CLEAN_SECONDS
    for _ in range(50):
        await layer.send("one", {"type": "a"})
    assert cleaned == ["one"]


async def test_an_expired_message_goes_and_with_it_the_membership_of_who_never_read() -> None:
    clock = Clock()
    layer = MemoryChannelLayer(clock=clock, expiry=60)
    await layer.group_add("group", "dead")
    await layer.group_send("group", {"type": "a"})
    clock.now += 61
    await layer.send("other", {"type": "b"})
    assert "dead" not in layer.channels
    assert layer.groups["group"] == {}


async def test_a_membership_outlasts_days_and_clock_steps() -> None:
    clock = Clock()
    layer = MemoryChannelLayer(clock=clock)
    await layer.group_add("group", "one")
    for step in (26 * 3600, -90_000, 61):
        clock.now += step
        await layer.group_send("group", {"type": "a"})
        assert (await layer.receive("one"))["type"] == "a"


async def test_two_receivers_of_one_channel_both_stay_reachable() -> None:
    layer = MemoryChannelLayer()
    receivers = [asyncio.create_task(layer.receive("hosts")) for _ in range(2)]
    await asyncio.sleep(0)
    await layer.send("hosts", {"type": "a"})
    done, waiting = await asyncio.wait(receivers, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == 1
    await layer.send("hosts", {"type": "b"})
    assert [(await task)["type"] for task in waiting] == ["b"]
    assert "hosts" not in layer.channels


async def test_the_members_of_a_group_are_counted() -> None:
    layer = MemoryChannelLayer()
    assert layer.member_count("g") == 0
    for channel in ("a", "b", "b"):
        await layer.group_add("g", channel)
    assert layer.member_count("g") == 2
    await layer.group_discard("g", "a")
    assert layer.member_count("g") == 1
