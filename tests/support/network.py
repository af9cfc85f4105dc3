"""Sockets of a test process reach loopback and Unix paths, nothing else."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOCAL_NAMES = frozenset({"", "localhost", "testserver"})


class NetworkRefused(RuntimeError):
    """A test tried to leave the machine. Not an OSError: nobody's retry may swallow it."""


def is_local(family: int, address: Any) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    return host_is_local(address[0])


def host_is_local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in LOCAL_NAMES:
        return True
    try:
        number = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified


@contextmanager
def refuse_network() -> Iterator[None]:
    """Replace what opens connections and asks for names; put it back at the end."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded(original: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if not is_local(self.family, address):
                raise NetworkRefused(f"a test tried to reach {address!r}")
            return original(self, address)

        return call

    def lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not host_is_local(host):
            raise NetworkRefused(f"a test tried to look up {host!r}")
        return getaddrinfo(host, *args, **kwargs)

    with patched(
        (socket.socket, "connect", guarded(connect)),
        (socket.socket, "connect_ex", guarded(connect_ex)),
        (socket, "getaddrinfo", lookup),
    ):
        yield


@contextmanager
def patched(*replacements: tuple[Any, str, Any]) -> Iterator[None]:
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    for owner, name, value in replacements:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)
