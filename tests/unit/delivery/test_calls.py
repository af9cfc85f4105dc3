from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from streaming.delivery.calls import NotTaken
from tests.support.clock import LeapingClock
from tests.unit.delivery.facts import until
from tests.unit.delivery.house import House


async def test_answers_find_their_questions_whatever_their_order(house: House) -> None:
    await house.actor()
    channel = house.calls.actors[house.session_id].channel
    replies = await asyncio.gather(
        *(
            house.calls.ask(channel, {"type": kind, "watcher": "w", "count": 1}, 40)
            for kind in ("actor.watch", "actor.inspect", "actor.watch")
        )
    )
    assert [sorted(reply or {}) for reply in replies] == [
        ["generation", "newest"],
        ["generation", "watchers"],
        ["generation", "newest"],
    ]


async def test_a_dead_actor_is_none_within_the_deadline_and_leaves_nothing_waiting(house: House) -> None:
    actor = await house.actor()
    await actor.die()
    assert await house.calls.ask(actor.channel, {"type": "actor.inspect"}, 0.05) is None
    assert house.calls._waiting == {}


async def test_a_question_to_a_full_channel_is_given_up_at_once(house: House) -> None:
    house.commands.capacity = 1
    await house.commands.send("actor.full!x", {"type": "a"})
    with pytest.raises(NotTaken):
        await house.calls.ask("actor.full!x", {"type": "actor.inspect"}, 60)
    assert house.calls._waiting == {}


async def test_a_message_to_oneself_comes_back_unless_the_layer_takes_none(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(channel: str, message: dict[str, Any]) -> None:
        raise ConnectionError("away")

    assert await house.calls.echo(60)
    monkeypatch.setattr(house.commands, "send", refuse)
    assert not await house.calls.echo(60)
    assert house.calls._waiting == {}


async def test_a_late_reply_has_nobody_waiting_and_harms_nobody(house: House) -> None:
    actor = await house.actor()
    assert await house.calls.ask(actor.channel, {"type": "actor.inspect"}, 40)
    reply_channel = house.calls._channel
    assert reply_channel is not None
    await house.commands.send(reply_channel, {"type": "live.reply", "request_id": "gone", "text": "{}"})
    assert await house.calls.ask(actor.channel, {"type": "actor.inspect"}, 40)


async def test_replies_of_many_are_collected_up_to_enough_of_them(house: House) -> None:
    async def ask(reply: dict[str, str]) -> None:
        for number in range(4):
            text = json.dumps({"number": number})
            message = {"type": "live.reply", "request_id": reply["request_id"], "text": text}
            await house.commands.send(reply["reply_to"], message)

    assert await house.calls.collect(ask, 60, 3) == [{"number": 0}, {"number": 1}, {"number": 2}]
    assert house.calls._collecting == {}


async def test_what_came_until_the_deadline_is_what_there_is(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, settled = house.calls._settle, list[object]()

    async def noted(message: dict[str, Any]) -> None:
        await settle(message)
        settled.append(message)

    monkeypatch.setattr(house.calls, "_settle", noted)

    async def ask(reply: dict[str, str]) -> None:
        message = {"type": "live.reply", "request_id": reply["request_id"], "text": "{}"}
        await house.commands.send(reply["reply_to"], message)

    clock = LeapingClock()
    collecting = asyncio.create_task(house.calls.collect(ask, 100, 3))
    await until(lambda: settled, "the answer has come")
    clock.leap(100)
    assert await collecting == [{}]


async def test_a_layer_that_takes_no_question_has_no_answers(house: House) -> None:
    async def ask(reply: dict[str, str]) -> None:
        raise ConnectionError("away")

    assert await house.calls.collect(ask, 60, 3) == []
    assert house.calls._collecting == {}
