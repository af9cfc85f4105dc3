from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from streaming.delivery import rechecks
from tests.integration.delivery.conftest import Served, read, read_words


async def test_attaching_starts_the_actor_and_begins_with_a_reset_and_its_snapshot(served: Served) -> None:
    async with served.connect() as socket:
        first = await read(socket)
    assert socket.subprotocol == "albedo.v1"
    assert [event["type"] for event in first["events"]] == ["reset"]
    assert first["attach"]["verdict"] == "reset"
    assert first["attach"]["reason"] == "initial"
    assert first["snapshot"]["id"] == served.session()
    assert first["snapshot"]["cursor"] == {"generation": first["generation"], "sequence": first["cursor"]}


async def test_a_replay_from_every_cursor_gives_exactly_the_rest(served: Served) -> None:
    async with served.connect() as socket:
        generation = (await read(socket))["generation"]
    served.control("publish", session=served.session(), words=list("abcdef"))
    newest = served.control("inspect", session=served.session())["newest"]
    for cut in range(newest + 1):
        query = f"?after_generation={generation}&after_seq={cut}"
        async with served.connect(f"/ws/sessions/{served.session()}{query}") as socket:
            first = await read(socket)
        assert [event["sequence"] for event in first["events"]] == list(range(cut + 1, newest + 1))
        assert first["attach"]["verdict"] == ("up_to_date" if cut == newest else "replay")
        assert "snapshot" not in first


async def test_live_events_follow_and_lost_batches_are_healed(served: Served) -> None:
    session = served.session()
    async with served.connect() as socket:
        await read(socket)
        served.control("publish", session=session, words=["one"])
        served.control("publish", session=session, words=["two", "three"], lose=True)
        assert await read_words(socket, 3) == ["one", "two", "three"]
        served.control("publish", session=session, words=["four"])
        assert await read_words(socket, 1) == ["four"]


async def test_an_empty_batch_comes_as_keepalive(served: Served) -> None:
    async with served.connect() as socket:
        first = await read(socket)
        alive = await read(socket)
    assert alive == {
        "generation": first["generation"],
        "cursor": first["cursor"],
        "events": [],
        "more": False,
    }


async def test_the_newest_cursor_of_a_session_at_rest_is_up_to_date_and_starts_nothing(
    served: Served,
) -> None:
    session = served.session()
    async with served.connect() as socket:
        first = await read(socket)
        served.control("publish", session=session, words=["a"])
        await read_words(socket, 1)
    served.control("rest", session=session)
    claimed = served.control("inspect")["claimed"]
    query = f"?after_generation={first['generation']}&after_seq={first['cursor'] + 1}"
    async with served.connect(f"/ws/sessions/{session}{query}") as socket:
        assert (await read(socket))["attach"]["verdict"] == "up_to_date"
        for _ in range(3):
            assert (await read(socket))["events"] == []
        assert served.control("inspect")["claimed"] == claimed
        # When an actor starts for another reason, the subscriber hears of it.
        served.control("start", session=session)
        while not (batch := await read(socket))["events"]:
            pass
    assert batch["attach"]["reason"] == "generation_changed"


async def test_an_actor_that_crashes_under_a_subscriber_is_replaced(served: Served) -> None:
    session = served.session()
    async with served.connect() as socket:
        first = await read(socket)
        served.control("publish", session=session, words=["a"])
        await read_words(socket, 1)
        served.control("crash", session=session)
        while (batch := await read(socket))["generation"] == first["generation"]:
            pass
    assert batch["events"][0] == {"type": "reset", "data": {"reason": "generation_changed"}}


async def test_a_message_from_the_client_is_answered_by_4400(served: Served) -> None:
    async with served.connect() as socket:
        await read(socket)
        await socket.send(json.dumps({"type": "input", "session": served.session("bob")}))
        assert await closed(socket) == 4400


async def test_a_frame_that_is_too_big_is_answered_by_1009(served: Served) -> None:
    async with served.connect() as socket:
        await read(socket)
        await socket.send("x" * (2 * 1024 * 1024))
        assert await closed(socket) == 1009


async def test_a_message_in_countless_fragments_is_answered_by_1009(served: Served) -> None:
    async def drops() -> AsyncIterator[str]:
        for _ in range(1_000):
            yield "x"
            # The client reads too, as any client would.
            await asyncio.sleep(0)

    async with served.connect() as socket:
        await read(socket)
        with suppress(ConnectionClosed):
            await socket.send(drops())
        assert await closed(socket) == 1009


@pytest.mark.parametrize(
    "query",
    [
        "after_seq=1",
        "after_generation=1-a",
        "after_generation=1-a&after_seq=x",
        "after_generation=1-a&after_seq=-1",
        "tail=201",
        "tail=",
        "ticket=abc",
        "tail=1&tail=2",
        "&",
        "tail=%ff",
    ],
)
async def test_a_malformed_query_is_refused_before_the_upgrade(served: Served, query: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with served.connect(f"/ws/sessions/{served.session()}?{query}"):
            pass
    assert refused.value.response.status_code == 400
    assert json.loads(refused.value.response.body or b"")["code"] == "invalid_request"


def test_a_login_that_ended_is_noticed_within_five_seconds() -> None:
    """By its numbers: the server of these tests looks more often."""
    assert rechecks.EVERY_SECONDS + rechecks.FRESH_SECONDS < 5


async def test_a_revoked_token_closes_its_open_streams_with_4401(served: Served) -> None:
    async with served.connect() as socket:
        await read(socket)
        served.control("revoke", user=served.facts["alice"]["name"])
        assert await closed(socket) == 4401


async def test_a_session_that_is_deleted_closes_its_streams_with_4404(served: Served) -> None:
    async with served.connect() as socket:
        await read(socket)
        served.control("delete", session=served.session())
        assert await closed(socket) == 4404


async def test_sigterm_closes_streams_with_1012_and_exits_with_0(fresh: Served) -> None:
    async with fresh.connect() as socket:
        await read(socket)
        fresh.process.terminate()
        assert await closed(socket) == 1012
    assert await asyncio.to_thread(fresh.process.wait, 40) == 0


async def closed(socket: ClientConnection) -> int:
    """The code that the server closed with; what comes before it is passed over."""
    with pytest.raises(ConnectionClosed) as ended:
        await read_on(socket)
    frame = ended.value.rcvd
    assert frame is not None, "the connection was dropped without a close frame"
    return int(frame.code)


async def read_on(socket: ClientConnection) -> None:
    while True:
        await socket.recv()
