from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.live import Cursor
from streaming.delivery.codes import Close, Ended
from streaming.delivery.hub import Hub
from streaming.delivery.memory_layer import MemoryChannelLayer
from streaming.delivery.pages import Page, encoded
from streaming.delivery.pump import Delivery, Pump
from tests.support.clock import LeapingClock
from tests.unit.delivery.actor import AddressBook, FakeActor, note
from tests.unit.delivery.facts import until
from tests.unit.delivery.house import LIMITS, House

FIXED = UUID(int=7)


class Client:
    """A subscriber that keeps what it gets and checks that nothing is skipped."""

    def __init__(self) -> None:
        self.batches: list[dict[str, Any]] = []
        self.words: list[str] = []
        self.cursor: Cursor | None = None
        self.resets: list[str] = []
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.stuck = False

    async def send(self, delivery: Delivery) -> None:
        self.stuck = True
        await self.may_read.wait()
        self.stuck = False
        envelope = orjson.loads(delivery.text)
        assert (envelope["generation"], envelope["cursor"]) == (
            delivery.cursor.generation,
            delivery.cursor.sequence,
        )
        self.batches.append(envelope)
        self._take(envelope)

    def _take(self, envelope: dict[str, Any]) -> None:
        for event in envelope["events"]:
            if event["type"] == "reset":
                self.resets.append(event["data"]["reason"])
                self.cursor = Cursor(envelope["generation"], envelope["cursor"])
                continue
            expected = Cursor(envelope["generation"], event["sequence"] - 1)
            assert self.cursor is None or self.cursor == expected, "an event was skipped or repeated"
            self.cursor = Cursor(envelope["generation"], event["sequence"])
            self.words.append(event["data"]["text"])


def attach_to(house: House) -> Any:
    """What `attach_page` does, without a database: ask the actor, put a snapshot behind a reset."""

    async def attach(cursor: Cursor | None) -> Page | None:
        actor = house.calls.actors.get(house.session_id)
        if actor is None:
            return None
        message = {
            "type": "actor.capture",
            "after_generation": cursor.generation if cursor else None,
            "after_seq": cursor.sequence if cursor else None,
        }
        reply = await house.calls.ask(actor.channel, message, LIMITS.capture_seconds)
        if reply is None:
            return None
        page = {name: reply[name] for name in ("generation", "cursor", "events", "more")}
        page["attach"] = {name: reply[name] for name in ("verdict", "reason", "oldest", "newest")}
        if reply["live"] is not None:
            page["events"] = [{"type": "reset", "data": {"reason": reply["reason"]}}]
            page["snapshot"] = reply["live"]
        return encoded(page)

    return attach


@asynccontextmanager
async def pumping(
    house: House, client: Client, cursor: Cursor | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    subscription = await house.hub.subscribe(house.session_id)
    client.cursor = cursor
    pump = Pump(subscription, attach_to(house), client.send, LIMITS)
    assert await pump.begin(cursor)
    task = asyncio.create_task(pump.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        subscription.close()


async def test_the_first_batch_is_the_attach_page_also_when_empty(house: House) -> None:
    actor = await house.actor()
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 0)):
        await until(lambda: client.batches, "the page is sent")
    assert client.batches[0]["attach"] == {"verdict": "up_to_date", "reason": None, "oldest": 1, "newest": 0}
    assert client.batches[0]["events"] == []


async def test_without_a_cursor_a_reset_with_its_snapshot_comes_first(house: House) -> None:
    actor = await house.actor()
    await actor.publish(note("before"))
    client = Client()
    async with pumping(house, client):
        await actor.publish(note("behind"))
        await until(lambda: client.words == ["behind"], "the live event follows")
    assert client.resets == ["initial"]
    assert client.batches[0]["snapshot"]["cursor"] == {"generation": actor.generation, "sequence": 1}


@pytest.mark.parametrize("cut", range(6))
async def test_a_replay_from_every_cursor_joins_the_live_events_without_a_seam(
    house: House, cut: int
) -> None:
    actor = await house.actor()
    for word in "abcde":
        await actor.publish(note(word))
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, cut)):
        await actor.publish(note("f"), note("g"))
        await until(lambda: client.words[-1:] == ["g"], "the live events arrive")
    assert client.words == list("abcdefg")[cut:]
    assert client.resets == []


async def test_an_idle_stream_is_kept_alive_by_empty_batches_at_its_cursor(house: House) -> None:
    actor = await house.actor()
    await actor.publish(note("a"))
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 1)):
        await until(lambda: len(client.batches) >= 3, "keepalives come")
    assert client.batches[2] == {"generation": actor.generation, "cursor": 1, "events": [], "more": False}


async def test_lost_batches_are_replayed_in_order(house: House) -> None:
    actor = await house.actor()
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 0)):
        await actor.publish(note("a"))
        await actor.publish(note("b"), lose=True)
        await actor.publish(note("c"))
        await actor.publish(note("d"), lose=True)
        await until(lambda: client.words == list("abcd"), "all arrive, the last lost one too")
    assert client.resets == []


async def test_a_slow_reader_pages_what_the_mirror_no_longer_has(house: House) -> None:
    actor = await house.actor()
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 0)):
        await until(lambda: client.batches, "attached")
        client.may_read.clear()
        for number in range(5 * LIMITS.mirror_batches):
            await actor.publish(note(str(number)))
        client.may_read.set()
        await until(lambda: len(client.words) == 5 * LIMITS.mirror_batches, "all arrive")
    assert client.words == [str(number) for number in range(5 * LIMITS.mirror_batches)]
    assert client.resets == []


async def test_a_reader_behind_the_window_gets_a_reset_and_goes_on_from_it(house: House) -> None:
    actor = await house.actor(window_events=4)
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 0)):
        await until(lambda: client.batches, "attached")
        client.may_read.clear()
        for number in range(5 * LIMITS.mirror_batches):
            await actor.publish(note(str(number)))
        client.may_read.set()
        await until(lambda: client.resets, "the reset arrives")
        await actor.publish(note("after"))
        await until(lambda: client.words[-1:] == ["after"], "live events follow it")
    assert client.resets == ["replay_unavailable"]


async def test_a_reader_that_does_not_read_is_too_slow_and_delays_nobody(house: House) -> None:
    actor = await house.actor()
    clock, stuck, quick = LeapingClock(), Client(), Client()
    start = Cursor(actor.generation, 0)
    async with pumping(house, stuck, start) as stuck_task, pumping(house, quick, start):
        await until(lambda: stuck.batches, "attached")
        stuck.may_read.clear()
        for word in "abc":
            await actor.publish(note(word))
        await until(lambda: quick.words == list("abc"), "the other one has everything")
        await until(lambda: stuck.stuck, "the stuck one is being sent to")
        clock.leap(LIMITS.send_seconds)
        await until(stuck_task.done, "the stuck one is ended")
        with pytest.raises(Ended) as ended:
            stuck_task.result()
        assert ended.value.code is Close.TOO_SLOW


async def test_a_new_generation_resets(house: House) -> None:
    actor = await house.actor(1)
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 0)):
        await actor.publish(note("old"))
        await until(lambda: client.words == ["old"], "the old one speaks")
        await actor.die()
        successor = await house.actor(2)
        await successor.publish(note("new"))
        await until(lambda: client.batches[-1]["generation"] == successor.generation, "the new one shows")
    assert client.resets == ["generation_changed"]


async def test_while_no_actor_answers_the_stream_lives_and_goes_on_later(house: House) -> None:
    actor = await house.actor(1)
    client = Client()
    async with pumping(house, client, Cursor(actor.generation, 0)):
        await actor.publish(note("a"))
        await until(lambda: client.words == ["a"], "it arrives")
        del house.calls.actors[house.session_id]
        await actor.publish(note("b"), lose=True)
        await actor.publish(note("c"))
        sent = len(client.batches)
        await until(lambda: len(client.batches) > sent + 1, "keepalives come")
        assert client.words == ["a"]
        house.calls.actors[house.session_id] = actor
        await until(lambda: client.words == list("abc"), "the rest arrives")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["send", "lose", "twice", "late"])), max_size=20),
    st.integers(0, 60),
)
def test_whatever_the_layer_does_every_event_arrives_once_in_order(
    plan: list[tuple[int, str]], cut: int
) -> None:
    asyncio.run(_deliver_all(plan, cut))


async def _deliver_all(plan: list[tuple[int, str]], cut: int) -> None:
    commands, broadcast = MemoryChannelLayer(), MemoryChannelLayer()
    calls = AddressBook(commands)
    house = House(commands, broadcast, calls, Hub(broadcast, calls, LIMITS), FIXED)
    actor = FakeActor(commands, broadcast, FIXED, page_bytes=700)
    calls.actors[FIXED] = await actor.start()
    client, total = Client(), sum(count for count, _ in plan)
    half = len(plan) // 2
    await _publish(actor, plan[:half])
    start = min(cut, actor.window.newest)
    async with pumping(house, client, Cursor(actor.generation, start)):
        await _publish(actor, plan[half:])
        await until(lambda: len(client.words) == total - start, "everything arrives")
    assert client.words == [str(number) for number in range(start + 1, total + 1)]
    assert client.resets == []
    await house.hub.close()
    await actor.die()
    await calls.close()


async def _publish(actor: FakeActor, plan: list[tuple[int, str]]) -> None:
    late = []
    for count, fate in plan:
        first = actor.window.newest + 1
        events = [note(str(number)) for number in range(first, first + count)]
        sent = await actor.publish(*events, lose=fate in ("lose", "late"))
        if fate == "twice":
            await actor.say(sent)
        if fate == "late":
            late.append(sent)
        await asyncio.sleep(0)
    for sent in late:
        await actor.say(sent)
