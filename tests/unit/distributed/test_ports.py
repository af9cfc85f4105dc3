"""Free ports."""

from __future__ import annotations

import contextlib
import socket

from scripts.distributed.ports import FIRST, HOST, LAST, free_ports, is_free


def test_they_differ_and_nobody_listens_there() -> None:
    found = free_ports(20)
    assert len(set(found)) == 20
    assert all(FIRST <= port <= LAST and is_free(port) for port in found)


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with contextlib.closing(socket.socket()) as listener:
        listener.bind((HOST, 0))
        listener.listen()
        assert not is_free(listener.getsockname()[1])
