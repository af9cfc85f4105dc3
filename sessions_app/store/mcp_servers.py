"""MCP servers of a session or a profile: stored with their secrets sealed, shown without, opened for use.

A stored server is its description as the API takes it, but each value of `env` and `headers` is encrypted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions_app.problems import InvalidRequest
from sessions_app.store.secrets import seal_value, unseal_value

Stored = dict[str, Any]
SECRETS = ("env", "headers")
POINTER = "/mcp_servers"


@dataclass(frozen=True, slots=True)
class ResolvedMcpServer:
    """A server ready to be used, secrets in clear."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def sealed(asked: Sequence[Stored], stored: Sequence[Stored]) -> list[Stored]:
    """What is stored of the servers asked for. A secret of null is the one that the server has already.

    A secret belongs to what it was given for: it does not follow to another address or command. Raises
    InvalidRequest.
    """
    known = {server["name"]: server for server in stored}
    return [_sealed(server, known.get(server["name"])) for server in asked]


def shown(stored: Sequence[Stored]) -> list[Stored]:
    """The servers without their secrets: of each, whether it is there."""
    return [
        {key: _without_values(value) if key in SECRETS else value for key, value in server.items()}
        for server in stored
    ]


def opened(*stored: Sequence[Stored]) -> list[ResolvedMcpServer]:
    """The servers of several lists, secrets in clear; of two with one name the later."""
    servers = {server["name"]: server for servers in stored for server in servers}
    return [_opened(server) for server in servers.values()]


def _sealed(server: Stored, known: Stored | None) -> Stored:
    made = dict(server)
    for kind in SECRETS:
        if kind in server:
            made[kind] = {
                name: _kept(server, known, kind, name) if value is None else seal_value(value)
                for name, value in server[kind].items()
            }
    return made


def _kept(server: Stored, known: Stored | None, kind: str, name: str) -> str:
    value = (known or {}).get(kind, {}).get(name)
    if known is None or value is None or _target(known) != _target(server):
        detail = f"The value of {name} must be given: there is none stored for this server as it is now."
        raise InvalidRequest(detail, POINTER)
    return str(value)


def _target(server: Stored) -> tuple[Any, ...]:
    return server["transport"], server.get("url"), server.get("command"), server.get("args")


def _without_values(secrets: Mapping[str, str]) -> dict[str, dict[str, bool]]:
    return {name: {"has_value": bool(value)} for name, value in secrets.items()}


def _opened(server: Stored) -> ResolvedMcpServer:
    values = dict(server)
    for kind in SECRETS:
        values[kind] = {name: unseal_value(value) for name, value in server.get(kind, {}).items()}
    return ResolvedMcpServer(**{**values, "args": tuple(server.get("args", ()))})
