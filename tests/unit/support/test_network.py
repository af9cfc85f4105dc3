"""The suite cannot reach past this machine."""

from __future__ import annotations

import socket

import httpx
import pytest

from tests.support.network import NetworkRefused


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("203.0.113.9", 443)])
def test_a_connection_to_another_machine_is_refused(address: tuple[str, int]) -> None:
    with socket.socket() as outgoing, pytest.raises(NetworkRefused):
        outgoing.connect(address)


def test_a_name_of_another_machine_is_not_even_looked_up() -> None:
    with pytest.raises(NetworkRefused):
        socket.getaddrinfo("provider.example", 443)


async def test_an_http_client_is_refused_too() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(NetworkRefused):
            await client.get("https://provider.example/")


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()
        with socket.socket() as outgoing:
            assert outgoing.connect_ex(listener.getsockname()) == 0
