"""MCP servers in bodies and answers: their shapes, and who may set which."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from django.contrib.auth.models import User
from pydantic import AfterValidator, Field, StringConstraints

from sessions_app.api.shapes import Body, Shown
from sessions_app.endpoints import checked_base_url
from sessions_app.problems import Forbidden, InvalidRequest

MAX_SERVERS, MAX_ARGS, MAX_SECRETS = 16, 64, 32
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
# They decide what is executed in the server's process instead of being told to it.
REFUSED_ENV = re.compile(r"LD_.*|ALBEDO_.*", re.ASCII)
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}", re.ASCII)
HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,4000}", re.ASCII)
# Ours or the protocol's to set.
REFUSED_HEADERS = re.compile(
    r"host|content-.*|accept.*|connection|transfer-encoding|te|upgrade|mcp-.*|last-event-id", re.IGNORECASE
)

Secrets = dict[str, str | None]


def _env(value: Secrets) -> Secrets:
    for name, text in value.items():
        if not ENV_NAME.fullmatch(name) or REFUSED_ENV.fullmatch(name):
            raise ValueError("has a name that cannot be set here")
        if text is not None and len(text) > 4_000:
            raise ValueError("has a value that is longer than 4000 characters")
    return value


def _headers(value: Secrets) -> Secrets:
    for name, text in value.items():
        if not HEADER_NAME.fullmatch(name) or REFUSED_HEADERS.fullmatch(name):
            raise ValueError("has a header that cannot be set here")
        if text is not None and not HEADER_VALUE.fullmatch(text):
            raise ValueError("has a value that is not printable ASCII")
    return value


def _url(value: str) -> str:
    try:
        return checked_base_url(value)
    except InvalidRequest:
        raise ValueError(
            "must be http(s)://host[:port][/path] without user, query or fragment, "
            "and not a link-local, metadata or oddly spelled address"
        ) from None


# No underscore: `name__tool` can be taken apart in one way only.
ServerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$")]
Command = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Argument = Annotated[str, StringConstraints(max_length=4_000)]
Env = Annotated[Secrets, Field(max_length=MAX_SECRETS), AfterValidator(_env)]
Headers = Annotated[Secrets, Field(max_length=MAX_SECRETS), AfterValidator(_headers)]
Url = Annotated[str, AfterValidator(_url)]

VALUES = "Values are write only; null keeps the stored one."


class StdioServerIn(Body):
    """A program that this server starts. Staff only."""

    name: ServerName
    transport: Literal["stdio"]
    command: Command
    args: list[Argument] = Field([], max_length=MAX_ARGS)
    env: Env = Field({}, description=VALUES)


class HttpServerIn(Body):
    """A server at a URL, over streamable HTTP."""

    name: ServerName
    transport: Literal["http"]
    url: Url
    headers: Headers = Field({}, description=VALUES)


McpServerIn = Annotated[StdioServerIn | HttpServerIn, Field(discriminator="transport")]


def _distinct(value: list[McpServerIn]) -> list[McpServerIn]:
    if len({server.name for server in value}) != len(value):
        raise ValueError("has two servers of one name")
    return value


McpServers = Annotated[list[McpServerIn], Field(max_length=MAX_SERVERS), AfterValidator(_distinct)]


class Secret(Shown):
    has_value: bool


class McpServerOut(Shown):
    name: str
    transport: Literal["stdio", "http"]
    command: str | None = None
    args: list[str] | None = None
    env: dict[str, Secret] | None = None
    url: str | None = None
    headers: dict[str, Secret] | None = None


def require_may_set(user: User, servers: list[McpServerIn] | None) -> None:
    """A stdio server is a program that runs as the server's own user. Raises Forbidden."""
    if not user.is_staff and any(isinstance(server, StdioServerIn) for server in servers or ()):
        raise Forbidden("forbidden", "Only staff may set an MCP server that is a command.")


def as_stored(servers: list[McpServerIn]) -> list[dict[str, Any]]:
    return [server.model_dump() for server in servers]
