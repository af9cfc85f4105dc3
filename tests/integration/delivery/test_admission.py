"""Who gets a stream: nothing is upgraded, and no event leaves, before that is settled."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.integration.delivery.conftest import Served, read
from tests.integration.delivery.test_websocket import closed

ADDRESSES = ["list", "session"]


def path(served: Served, address: str) -> str:
    return "/ws/sessions" if address == "list" else f"/ws/sessions/{served.session()}"


async def refused(served: Served, address: str, headers: dict[str, str], **options: Any) -> int:
    """The status of a handshake that must not succeed."""
    with pytest.raises(InvalidStatus) as answer:
        async with served.connect(address, headers, **options):
            pass
    response = answer.value.response
    if response.body:
        assert json.loads(response.body)["status"] == response.status_code
        assert response.headers["Content-Type"] == "application/problem+json"
    return int(response.status_code)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("offered", [["albedo.v1"], ["albedo.v1", "bearer.wrong"], None])
async def test_without_good_credentials_nothing_is_upgraded(
    served: Served, address: str, offered: list[str] | None
) -> None:
    headers = {"Origin": served.url}
    assert await refused(served, path(served, address), headers, subprotocols=offered) == 401


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_bad_token_is_not_made_up_for_by_a_good_cookie(served: Served, address: str) -> None:
    headers = {**served.cookie(origin=served.url), "Authorization": "Bearer wrong"}
    assert await refused(served, path(served, address), headers) == 401


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        None,
        "",
        "http://HOST.evil.example",
        "http://evilHOST",
        "http://HOST@evil.example",
        "http://evil.example@HOST",
        "http://localhost:9999",
        "http://127.0.0.1:9999",
        "http://127.0.0.1",
        "https://HOST",
        "http://HOST/",
        "http://HOST?x",
        "HOST",
        "ftp://HOST",
    ],
)
async def test_a_cookie_counts_from_this_very_origin_alone(
    served: Served, address: str, origin: str | None
) -> None:
    named = None if origin is None else origin.replace("HOST", f"127.0.0.1:{served.port}")
    assert await refused(served, path(served, address), served.cookie(origin=named)) in (400, 403)


@pytest.mark.parametrize("origin", ["http://[", "http://a:99999999", "http://" + "a" * 65_536])
async def test_a_malformed_origin_is_refused_quietly(served: Served, origin: str) -> None:
    from websockets.exceptions import InvalidHandshake

    before = len(served.log.read_text("utf-8"))
    with pytest.raises((InvalidHandshake, OSError)) as answer:
        async with served.connect(headers=served.cookie(origin=origin)):
            pass
    if isinstance(answer.value, InvalidStatus):
        assert answer.value.response.status_code in (400, 403)
    assert not re.search(r" (ERROR|CRITICAL) |Traceback", served.log.read_text("utf-8")[before:])


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_cookie_from_this_origin_is_let_in(served: Served, address: str) -> None:
    async with served.connect(path(served, address), served.cookie(origin=served.url)) as socket:
        assert "events" in await read(socket)


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_token_needs_no_origin_and_may_come_as_a_subprotocol(served: Served, address: str) -> None:
    async with served.connect(path(served, address)) as socket:
        assert "events" in await read(socket)
    offers = ["albedo.v1", f"bearer.{served.facts['alice']['token']}"]
    async with served.connect(path(served, address), {}, subprotocols=offers) as socket:
        assert socket.subprotocol == "albedo.v1"
        assert "events" in await read(socket)


async def test_another_subprotocol_alone_is_refused(served: Served) -> None:
    assert await refused(served, path(served, "session"), served.bearer(), subprotocols=["other"]) == 400


async def test_somebody_elses_session_is_unknown_and_staff_see_it(served: Served) -> None:
    address = path(served, "session")
    assert await refused(served, address, served.bearer("bob")) == 404
    unknown = "/ws/sessions/0198c0de-0000-7000-8000-00000000000f"
    assert await refused(served, unknown, served.bearer("bob")) == 404
    async with served.connect(address, served.bearer("staff")) as socket:
        assert "events" in await read(socket)


async def test_another_host_name_is_refused(served: Served) -> None:
    for address in ADDRESSES:
        # `Host` is the library's own header, so the handshake is written by hand.
        assert await status_for_host(served, path(served, address), "evil.example") == 400
        assert await status_for_host(served, path(served, address), f"127.0.0.1:{served.port}") == 101


async def status_for_host(served: Served, target: str, host: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        f"Authorization: {served.bearer()['Authorization']}",
        "",
        "",
    ]
    writer.write("\r\n".join(lines).encode())
    status = int((await reader.readline()).split()[1])
    writer.close()
    await writer.wait_closed()
    return status


async def test_an_unknown_socket_address_is_404(served: Served) -> None:
    for address in ("/ws/other", "/ws/sessions/", "/ws/sessions/a/b", "/"):
        assert await refused(served, address, served.bearer()) == 404


async def test_the_server_does_not_name_itself(served: Served) -> None:
    async with served.connect() as socket:
        assert socket.response is not None
        assert "Server" not in socket.response.headers
    assert "server" not in served.http.get("/login/").headers


async def test_streams_over_the_cap_of_a_user_are_closed_with_4429(tmp_path: object) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    small = Served(tmp_path / "served", ALBEDO_DELIVERY_SUBSCRIBERS_PER_USER="2")
    try:
        async with small.connect() as one, small.connect("/ws/sessions") as two:
            await read(one)
            await read(two)
            async with small.connect() as three:
                assert await closed(three) == 4429
            answer = small.http.get(
                f"/api/sessions/{small.session()}",
                headers={**small.bearer(), "Accept": "text/event-stream"},
            )
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_streams")
            async with small.connect("/ws/sessions", small.bearer("bob")) as other:
                await read(other)
        async with small.connect() as again:
            await read(again)
    finally:
        small.close()


async def test_events_reach_nobody_else(served: Served) -> None:
    canary = "canary-5f1d"
    async with (
        served.connect(f"/ws/sessions/{served.session('bob')}", served.bearer("bob")) as own,
        served.connect("/ws/sessions", served.bearer("bob")) as listing,
        served.connect() as socket,
    ):
        await read(socket)
        served.control("publish", session=served.session(), words=[canary] * 200)
        served.control("announce", session=served.session(), owner=served.facts["alice"]["id"])
        seen = [await own.recv() for _ in range(2)] + [await listing.recv() for _ in range(2)]
    assert canary not in str(seen)
    assert served.session() not in str(seen)
