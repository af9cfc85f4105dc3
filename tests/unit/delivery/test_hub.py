from __future__ import annotations

import asyncio

import pytest

from sessions_app.problems import Problem
from streaming.delivery.codes import Close
from streaming.delivery.mirror import Next
from streaming.delivery.refusals import close_code
from streaming.feed.batch import Batch, batch
from tests.unit.delivery.actor import note
from tests.unit.delivery.facts import until
from tests.unit.delivery.house import House


def group(house: House) -> str:
    return f"session.{house.session_id.hex}"


async def test_one_membership_for_all_subscribers_of_a_session(house: House) -> None:
    subscriptions = [await house.hub.subscribe(house.session_id) for _ in range(5)]
    assert len(house.broadcast.groups[group(house)]) == 1
    for subscription in subscriptions[:-1]:
        subscription.close()
    assert house.hub.watched == 1
    subscriptions[-1].close()
    assert house.hub.watched == 0
    await until(lambda: group(house) not in house.broadcast.groups, "the group is left")


async def test_subscribers_share_the_text_of_a_batch(house: House) -> None:
    actor = await house.actor()
    one, two = [await house.hub.subscribe(house.session_id) for _ in range(2)]
    await actor.publish(note("a"))
    found = []
    for subscription in (one, two):
        await until(lambda: isinstance(subscription.next(actor.generation, 0), Batch), "the batch arrives")  # noqa: B023
        found.append(subscription.next(actor.generation, 0))
    assert found[0] is found[1]


async def test_the_actor_learns_how_many_watch_and_that_they_left(house: House) -> None:
    actor = await house.actor()
    subscriptions = [await house.hub.subscribe(house.session_id) for _ in range(3)]
    await until(lambda: list(actor.watchers.values()) == [3], "three are counted")
    subscriptions.pop().close()
    await until(lambda: list(actor.watchers.values()) == [2], "two are counted")
    for subscription in subscriptions:
        subscription.close()
    await until(lambda: list(actor.watchers.values()) == [0], "none is counted")


async def test_a_lost_batch_is_noticed_without_another_one(house: House) -> None:
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await actor.publish(note("lost"), lose=True)
    await until(lambda: subscription.next(actor.generation, 0) is Next.BEHIND, "the loss shows")


async def test_a_lost_membership_is_joined_again(house: House) -> None:
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await until(lambda: actor.watchers, "the hub has found the actor")
    house.broadcast.groups.clear()
    await actor.publish(note("unheard"))
    await until(lambda: subscription.next(actor.generation, 0) is Next.BEHIND, "the loss shows")
    await actor.publish(note("heard"))
    await until(lambda: isinstance(subscription.next(actor.generation, 1), Batch), "it arrives again")


async def test_a_lost_actor_is_claimed_anew_and_its_successor_found_without_its_hello(house: House) -> None:
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await actor.publish(note("here"))
    await until(lambda: isinstance(subscription.next(actor.generation, 0), Batch), "the hub has heard of it")
    await actor.die()
    del house.calls.actors[house.session_id]
    await until(lambda: house.session_id in house.calls.claims, "a host is asked")
    successor = await house.actor(2, hello=False)
    await until(lambda: subscription.next("1-00000001", 0) is Next.BEHIND, "the new generation shows")
    assert subscription.next(successor.generation, 0) is Next.NOTHING


async def test_a_session_at_rest_stays_at_rest_while_watched(house: House) -> None:
    await house.hub.subscribe(house.session_id)
    looked = 0
    address = house.calls.address

    async def counted(session_id: object) -> object:
        nonlocal looked
        looked += 1
        return await address(house.session_id)

    house.calls.address = counted  # type: ignore[method-assign, assignment]
    await until(lambda: looked >= 3, "the hub looked several times")
    assert house.calls.claims == []


async def test_coming_back_while_the_last_one_leaves_keeps_the_membership(house: House) -> None:
    actor = await house.actor()
    for _ in range(20):
        subscription = await house.hub.subscribe(house.session_id)
        subscription.close()
        again = await house.hub.subscribe(house.session_id)
        await asyncio.sleep(0)
        sent = await actor.publish(note("a"))
        await until(lambda: isinstance(again.next(actor.generation, sent.first - 1), Batch), "it arrives")  # noqa: B023
        again.close()


async def test_other_sessions_are_not_heard(house: House) -> None:
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await house.broadcast.send(
        str(house.hub._channel),
        {
            "type": "session.batch",
            "session_id": "0198c0de-0000-7000-8000-00000000000f",
            "generation": "9-z",
            "first": 1,
            "last": 1,
            "text": "x",
        },
    )
    await actor.publish(note("a"))
    await until(lambda: isinstance(subscription.next(actor.generation, 0), Batch), "ours arrives")


async def test_a_broken_message_does_not_make_the_hub_deaf(house: House) -> None:
    actor = await house.actor()
    subscription = await house.hub.subscribe(house.session_id)
    await house.broadcast.send(str(house.hub._channel), {"type": "session.batch"})
    await actor.publish(note("a"))
    await until(lambda: isinstance(subscription.next(actor.generation, 0), Batch), "ours arrives")


async def test_the_cap_is_per_user_and_gives_back(house: House) -> None:
    with house.hub.admitted(1), house.hub.admitted(1), house.hub.admitted(1):
        with pytest.raises(Problem) as refused, house.hub.admitted(1):
            pass
        assert refused.value.status == 429
        with house.hub.admitted(2):
            pass
    with house.hub.admitted(1):
        pass


async def test_a_late_batch_of_a_former_actor_changes_nothing(house: House) -> None:
    old = await house.actor(1)
    subscription = await house.hub.subscribe(house.session_id)
    late = await old.publish(note("old"), lose=True)
    new = await house.actor(2)
    sent = await new.publish(note("new"))
    await until(lambda: isinstance(subscription.next(new.generation, 0), Batch), "the new one arrives")
    await old.say(late)
    await new.publish(note("newer"))
    await until(lambda: isinstance(subscription.next(new.generation, sent.last), Batch), "both are there")
    await old.die()


async def test_closing_ends_all_tasks(house: House) -> None:
    await house.actor()
    await house.hub.subscribe(house.session_id)
    await house.hub.close()
    assert house.hub.closing.is_set()
    assert house.hub._tasks == set()


def test_a_batch_needs_an_event() -> None:
    with pytest.raises(IndexError):
        batch("1-a", [])


async def test_a_process_has_a_cap_of_its_own(house: House) -> None:
    with house.hub.admitted(1), house.hub.admitted(1), house.hub.admitted(2), house.hub.admitted(2):
        with pytest.raises(Problem) as refused, house.hub.admitted(3):
            pass
        assert (refused.value.status, close_code(refused.value)) == (503, Close.TOO_MANY)
        assert house.hub.streams == 4
    assert house.hub.streams == 0
    with house.hub.admitted(3):
        pass


async def test_who_is_about_to_end_admits_nobody(house: House) -> None:
    with house.hub.admitted(1):
        house.hub.closing.set()
        with pytest.raises(Problem) as refused, house.hub.admitted(2):
            pass
    assert (refused.value.code, close_code(refused.value)) == ("restarting", Close.RESTARTING)
    assert house.hub.streams == 0
