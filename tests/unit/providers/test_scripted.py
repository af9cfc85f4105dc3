"""The scripted provider itself, spoken to by a client that knows nothing of it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from typing import Any

import httpx
import pytest

from streaming.providers.scripted import Reply, ScriptedProvider, ScriptedThread, wire_case
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say, Think
from streaming.providers.scripted_signal import Barrier

SOON = 40.0


async def post(
    client: httpx.AsyncClient, base_url: str, path: str = "/responses", **body: Any
) -> httpx.Response:
    return await client.post(base_url + path, json=body)


async def test_requests_are_kept_as_they_came() -> None:
    async with ScriptedProvider(Reply(Say("hi"))) as server, httpx.AsyncClient(trust_env=False) as client:
        await client.post(server.base_url + "/responses?x=1", json={"a": "ü"}, headers={"X-One": "1"})
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/responses?x=1")
    assert request.headers["x-one"] == "1"
    assert request.body == {"a": "ü"}
    assert json.loads(request.raw) == {"a": "ü"}


async def test_one_script_a_request_and_then_an_error() -> None:
    async with (
        ScriptedProvider([Reply(Say("one")), Reply(Say("two"))]) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        answers = [await post(client, server.base_url) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 500]
    assert "two" in answers[1].text


async def test_it_keeps_only_as_many_requests_as_it_was_told() -> None:
    async with (
        ScriptedProvider(Reply(Say("x")), keep=2) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        for number in range(4):
            await post(client, server.base_url, number=number)
        assert [request.body["number"] for request in server.requests] == [2, 3]


@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_stream_and_whole_object_say_the_same(path: str) -> None:
    reply = Reply(Think("hm"), Say("text"), Call("python", {"code": "1"}, "call_x"), write_bytes=11)
    async with ScriptedProvider(reply) as server, httpx.AsyncClient(trust_env=False) as client:
        stream = await post(client, server.base_url, path, stream=True)
        whole = await post(client, server.base_url, path, stream=False)
    assert stream.headers["content-type"] == "text/event-stream"
    assert whole.headers["content-type"] == "application/json"
    for said in ("hm", "text", "call_x", "python"):
        assert said in stream.text
        assert said in whole.text


async def test_a_barrier_holds_the_script_until_it_is_released() -> None:
    barrier = Barrier()

    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.write("one")
        await out.pause(barrier)
        await out.write("two")

    async with (
        ScriptedProvider(script) as server,
        httpx.AsyncClient(trust_env=False) as client,
        client.stream("POST", server.base_url + "/responses") as response,
    ):
        pieces = response.aiter_raw()
        assert await anext(pieces) == b"one"
        await asyncio.wait_for(barrier.reached.wait(), SOON)
        barrier.release.set()
        assert await anext(pieces) == b"two"


async def test_an_abort_is_a_reset_behind_what_was_written() -> None:
    case = {"response": {"status": 200, "headers": {}, "chunks": ["one", {"b64": "dHdv"}, {"abort": True}]}}
    got: list[bytes] = []
    async with ScriptedProvider(wire_case(case)) as server, httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ReadError):
            await _collect(client, server.base_url, got)
    assert b"".join(got) == b"onetwo"


async def _collect(client: httpx.AsyncClient, base_url: str, got: list[bytes]) -> None:
    async with client.stream("POST", base_url + "/responses") as response:
        async for piece in response.aiter_raw():
            got.append(piece)


async def test_a_client_that_leaves_is_noticed_while_the_script_waits() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.start()
        await request.closed.wait()

    async with ScriptedProvider(script) as server:
        reader, writer = await asyncio.open_connection(*_address(server.base_url))
        writer.write(b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await asyncio.wait_for(server.requests[0].closed.wait(), SOON)


async def test_nonsense_ends_the_connection_and_not_the_server() -> None:
    async with ScriptedProvider(Reply(Say("hi"))) as server, httpx.AsyncClient(trust_env=False) as client:
        reader, writer = await asyncio.open_connection(*_address(server.base_url))
        writer.write(b"\x00\x01nonsense\r\n\r\n")
        await reader.read()
        writer.close()
        assert (await post(client, server.base_url)).status_code == 200


def test_in_a_thread_it_serves_code_without_an_event_loop() -> None:
    barrier = Barrier()

    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.pause(barrier)
        await Reply(Say("hi"))(request, out)

    with ScriptedThread(script) as server:
        host, port = _address(server.base_url)
        connection = http.client.HTTPConnection(host, port, timeout=SOON)
        connection.request("POST", "/v1/responses", body="{}")
        assert barrier.reached.wait_in_thread(SOON)
        barrier.release.set()
        assert b"hi" in connection.getresponse().read()
        connection.close()
        assert len(server.requests) == 1
    with pytest.raises(OSError), socket.create_connection((host, port), timeout=SOON):
        pass


def _address(base_url: str) -> tuple[str, int]:
    url = httpx.URL(base_url)
    assert url.port is not None
    return url.host, url.port
