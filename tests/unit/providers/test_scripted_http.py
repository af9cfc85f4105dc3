"""One connection of the scripted provider, by bytes."""

from __future__ import annotations

import asyncio

import pytest

from streaming.providers.scripted import ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n" + b'{"stream":true}'


async def exchange(script: object, sent: bytes) -> bytes:
    async with ScriptedProvider(script) as server:  # type: ignore[arg-type]
        host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent)
        writer.write_eof()
        try:
            return await asyncio.wait_for(reader.read(), 40)
        finally:
            writer.close()


async def test_each_write_is_one_chunk_and_the_body_ends_by_itself() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.write("one")
        await out.event({"a": 1})

    got = await exchange(script, REQUEST)
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"200" in head.splitlines()[0]
    assert body == b"3\r\none\r\n" + b'f\r\ndata: {"a":1}\n\n\r\n' + b"0\r\n\r\n"


async def test_two_requests_in_one_write_are_answered_in_order() -> None:
    seen: list[str] = []

    async def script(request: ScriptedRequest, out: Out) -> None:
        seen.append(request.protocol)
        await out.json(200, {"number": len(seen)})

    got = await exchange(script, REQUEST + REQUEST)
    assert got.index(b'{"number": 1}') < got.index(b'{"number": 2}')


async def test_status_and_headers_are_the_scripts_own() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        out.status(429, {"retry-after": "3"})
        await out.end()

    got = await exchange(script, REQUEST)
    assert got.startswith(b"HTTP/1.1 429")
    assert b"retry-after: 3" in got


@pytest.mark.parametrize(
    ("path", "raw", "protocol", "streams"),
    [
        ("/v1/responses?x=1", b'{"stream":true}', "responses", True),
        ("/v1/chat/completions", b'{"stream":false}', "chat_completions", False),
        ("/x", b"nonsense", "chat_completions", False),
    ],
)
def test_a_request_says_what_it_wants(path: str, raw: bytes, protocol: str, streams: bool) -> None:
    request = ScriptedRequest("POST", path, {}, raw)
    assert (request.protocol, request.wants_stream) == (protocol, streams)
