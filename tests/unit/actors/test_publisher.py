from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from streaming.actors.publisher import Publisher
from streaming.feed.live_state import initial
from streaming.limits import FeedLimits, Limits, ProgressLimits
from streaming.progress.projection import Change

QUICK = Limits(
    feed=FeedLimits(text_coalesce_seconds=0.01, page_bytes=4_096, window_events=50),
    progress=ProgressLimits(coalesce_seconds=0.01),
)
# So long that only what does not wait for its time is ever seen.
SLOW = Limits(feed=FeedLimits(text_coalesce_seconds=1_000), progress=ProgressLimits(coalesce_seconds=1_000))


def live_part() -> dict[str, Any]:
    return initial("1-a", input_order=0, pending_inputs=[], pending_approvals=[], usage={}, high_water=0)


class Layer:
    """Takes messages while it is `open`; a test may close it, or let it fail."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.failures = 0
        self.deaf = self.waiting = False
        self._came = asyncio.Condition()

    async def send(self, message: dict[str, Any]) -> None:
        self.waiting = not self.open.is_set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            if not self.deaf:
                raise
        if self.failures:
            self.failures -= 1
            raise ConnectionError("away")
        async with self._came:
            self.sent.append(message)
            self._came.notify_all()

    async def until_sequence(self, sequence: int) -> None:
        async with asyncio.timeout(40), self._came:
            await self._came.wait_for(lambda: bool(self.sent) and self.sent[-1]["last"] >= sequence)

    def events(self) -> list[dict[str, Any]]:
        return [event for sent in self.sent if sent["text"] for event in json.loads(sent["text"])["events"]]


@asynccontextmanager
async def speaking(limits: Limits, layer: Layer) -> AsyncIterator[Publisher]:
    publisher = Publisher(uuid4(), "1-a", live_part(), limits, layer.send)
    task = asyncio.create_task(publisher.send_forever())
    try:
        yield publisher
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def delta(text: str, offset: int = 0) -> dict[str, Any]:
    return {"run_id": "r", "message_id": "m", "attempt": 1, "offset_scalars": offset, "text": text}


def status(phase: str) -> dict[str, Any]:
    return {"phase": phase, "run_id": None, "interrupt_requested": False, "blocking_reason": None}


async def test_the_first_message_says_that_a_new_generation_speaks() -> None:
    layer = Layer()
    async with speaking(SLOW, layer) as publisher:
        publisher.emit("status", status("idle"))
        await layer.until_sequence(1)
    assert (layer.sent[0]["generation"], layer.sent[0]["last"], layer.sent[0]["text"]) == ("1-a", 0, "")


async def test_the_last_delta_is_said_also_where_nothing_follows() -> None:
    layer = Layer()
    async with speaking(QUICK, layer) as publisher:
        publisher.emit("text", delta("one "))
        publisher.emit("text", delta("two", 4))
        await layer.until_sequence(1)
    assert [event["data"]["text"] for event in layer.events()] == ["one two"]


async def test_what_waits_stands_before_what_does_not_wait() -> None:
    layer = Layer()
    async with speaking(SLOW, layer) as publisher:
        publisher.emit("text", delta("said"))
        publisher.emit("status", status("running"))
        await layer.until_sequence(2)
    assert [event["type"] for event in layer.events()] == ["text", "status"]


async def test_a_capture_shows_what_waits_and_takes_nothing_away() -> None:
    layer = Layer()
    async with speaking(SLOW, layer) as publisher:
        publisher.emit("text", delta("waits"))
        shown = json.loads(publisher.capture(None, None))
        assert shown["live"]["current_message"]["text"] == {"offset_scalars": 0, "text": "waits"}
        assert shown["cursor"] == 0
        assert json.loads(publisher.capture("1-a", 0))["verdict"] == "up_to_date"
        publisher.flush()
        assert json.loads(publisher.capture("1-a", 0))["events"][0]["data"]["text"] == "waits"


async def test_what_a_failed_attempt_left_waiting_is_never_said() -> None:
    layer = Layer()
    async with speaking(SLOW, layer) as publisher:
        publisher.emit("text", delta("void"))
        publisher.progress([Change({"call_id": "c"})])  # type: ignore[arg-type]
        publisher.void()
        publisher.emit("status", status("idle"))
        await layer.until_sequence(1)
    assert [event["type"] for event in layer.events()] == ["status"]


async def test_after_it_is_muted_nothing_is_numbered_or_sent() -> None:
    layer = Layer()
    async with speaking(QUICK, layer) as publisher:
        publisher.emit("text", delta("waits"))
        publisher.mute()
        publisher.emit("status", status("idle"))
        await asyncio.sleep(0)
        assert publisher.window.newest == 0
    assert layer.events() == []


async def test_a_layer_that_stands_still_costs_a_cursor_and_gets_the_rest_in_order() -> None:
    layer = Layer()
    async with speaking(QUICK, layer) as publisher:
        layer.open.clear()
        for number in range(40):
            publisher.emit("note", {"code": "n", "text": f"{number:0400d}"})
        layer.open.set()
        await layer.until_sequence(40)
    assert [event["sequence"] for event in layer.events()] == list(range(1, 41))
    sizes = [len(sent["text"]) for sent in layer.sent]
    assert max(sizes) <= QUICK.feed.page_bytes + 512


async def test_events_that_left_the_window_meanwhile_show_as_a_gap() -> None:
    layer = Layer()
    async with speaking(QUICK, layer) as publisher:
        layer.open.clear()
        for _ in range(200):
            publisher.emit("note", {"code": "n", "text": "x"})
        layer.open.set()
        await layer.until_sequence(200)
    batches = [(sent["first"], sent["last"]) for sent in layer.sent if sent["text"]]
    assert batches[0][0] > 1
    assert batches[-1][1] == 200


async def test_a_layer_that_refuses_a_batch_stops_nothing() -> None:
    layer = Layer()
    layer.failures = 2
    async with speaking(QUICK, layer) as publisher:
        publisher.emit("note", {"code": "n", "text": "lost"})
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        publisher.emit("note", {"code": "n", "text": "kept"})
        await layer.until_sequence(2)
    assert layer.events()[-1]["data"]["text"] == "kept"


async def test_it_ends_also_where_the_layer_swallows_that_it_is_to_end() -> None:
    layer = Layer()
    publisher = Publisher(uuid4(), "1-a", live_part(), SLOW, layer.send)
    task = asyncio.create_task(publisher.send_forever())
    publisher.emit("status", status("preparing"))
    await layer.until_sequence(1)
    layer.deaf = True
    layer.open.clear()
    publisher.emit("status", status("idle"))
    while not layer.waiting:
        await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(40):
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
