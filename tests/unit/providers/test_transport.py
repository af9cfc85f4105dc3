"""The HTTP seam: reads only on demand, closes in its bound, sends no header it should not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from streaming.providers.errors import TransportError
from streaming.providers.scripted import ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.transport import Exchange, Transport


@asynccontextmanager
async def transport() -> AsyncIterator[Transport]:
    one = Transport()
    try:
        yield one
    finally:
        await one.aclose(5.0)


async def read_to_status(exchange: Exchange) -> None:
    while exchange.status is None:
        await exchange.read()


async def test_nothing_is_read_ahead_of_demand() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        for _ in range(200):
            await out.write(b"x" * 10_000)

    async with ScriptedProvider(script) as server, transport() as one:
        exchange = one.open(server.base_url + "/responses", {}, b"{}")
        await read_to_status(exchange)
        await exchange.read()
        first = b"".join(exchange.take())
        for _ in range(50):
            await asyncio.sleep(0.002)
        assert list(exchange.take()) == []
        assert 0 < len(first) <= 64 * 1024
        total = len(first)
        while not exchange.eof:
            await exchange.read()
            brought = sum(len(piece) for piece in exchange.take())
            assert brought <= 64 * 1024
            total += brought
        assert total == 2_000_000
        await exchange.close(1.0)
        assert exchange.close_error_type is None


async def test_the_request_is_sent_as_given_with_host_and_length() -> None:
    async def script(request: ScriptedRequest, out: Out) -> None:
        await out.json(200, {})

    async with ScriptedProvider(script) as server, transport() as one:
        exchange = one.open(server.base_url + "/responses?a=1", {"x-one": "ü"}, b"body")
        await read_to_status(exchange)
        await exchange.close(1.0)
        (request,) = server.requests
    assert (request.method, request.path, request.raw) == ("POST", "/v1/responses?a=1", b"body")
    assert request.headers["host"] in server.base_url
    assert set(request.headers) == {"host", "content-length", "x-one"}


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x00b", " a", "a ", "\x7f", "\ud800"])
async def test_a_header_that_cannot_be_sent_is_an_error_before_anything_is(value: str) -> None:
    async with transport() as one:
        with pytest.raises(TransportError) as caught:
            one.open("http://127.0.0.1:1/", {"x": value}, b"")
    assert caught.value.code == "invalid_header"


@pytest.mark.parametrize("name", ["", "a b", "a:b", "ü", "a\n"])
async def test_a_header_name_must_be_one(name: str) -> None:
    async with transport() as one:
        with pytest.raises(TransportError):
            one.open("http://127.0.0.1:1/", {name: "v"}, b"")


@pytest.mark.parametrize("value", ["", "a", "a b\tc", "Bearer sk-1", "ü"])
async def test_plain_header_values_pass(value: str) -> None:
    async with transport() as one:
        exchange = one.open("http://127.0.0.1:1/", {"x": value}, b"")
        await exchange.close(1.0)
