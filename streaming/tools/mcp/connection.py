"""One open MCP server: a task that holds the connection, and calls that any other task may make through it.

Slow to import, since the protocol's library is: `servers` imports it when the first server is configured.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, Tool

from streaming.limits import McpLimits
from streaming.tools.mcp.config import McpServer, Shelter
from streaming.tools.mcp.http import http_client

DETAIL_CHARS = 300
# What is shorter hides nothing, and would make holes in every other word.
SECRET_CHARS = 6
# What the transport may still take once it is told to end: it is cancelled then.
CANCEL_SECONDS = 8.0


class McpUnavailable(Exception):
    """The server is not there, or not any more; the message says why, without secrets."""


class McpConnection:
    """`start`, then `opened`, then any number of `listed` and `call`, and `close` at the end."""

    def __init__(
        self,
        server: McpServer,
        limits: McpLimits,
        environment: Mapping[str, str],
        shelter: Shelter,
        workspace: Path,
    ) -> None:
        self.server = server
        self._limits = limits
        self._environment = environment
        self._shelter = shelter
        self._workspace = workspace
        self._token = secrets.token_hex(8)
        self._client: Client | None = None
        self._stop = asyncio.Event()
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.failure = ""

    def start(self) -> None:
        self._task = asyncio.create_task(self._hold())

    async def opened(self) -> None:
        """Wait until it can be used. Raises McpUnavailable, within `start_seconds`."""
        await self._settled.wait()
        self._usable()

    async def listed(self) -> list[Tool]:
        """All that it offers, at most `tools`. Raises McpUnavailable."""
        client, tools = self._usable(), list[Tool]()
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                while len(tools) < self._limits.tools:
                    page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                    tools += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        break
        except Exception as error:
            raise McpUnavailable(self._words(error)) from error
        return tools[: self._limits.tools]

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call once; cancelled, it tells the server. Raises McpUnavailable, also where the server refuses."""
        client = self._usable()
        try:
            return await client.call_tool(tool, arguments)
        except Exception as error:
            raise McpUnavailable(self._words(error)) from error

    async def close(self) -> None:
        """End it: gently, then by killing what it started. Bounded; safe to repeat."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=self._limits.close_seconds)
        self._shelter.unmark(self._token)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CANCEL_SECONDS)

    async def _hold(self) -> None:
        """Open, hold until `close`, end; all in this task, as the transports want it."""
        try:
            async with asyncio.timeout(self._limits.start_seconds) as limit, self._connected() as client:
                self._client = client
                self._settled.set()
                limit.reschedule(None)
                await self._stop.wait()
        except Exception as error:
            self.failure = self._words(error)
        finally:
            self._client = None
            self.failure = self.failure or "it is closed"
            self._settled.set()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        identity = Implementation(name="albedo", version="1")
        server, limits = self.server, self._limits
        if server.transport == "stdio":
            environment = {**self._environment, **server.env, **self._shelter.mark(self._token)}
            started = StdioServerParameters(
                command=server.command, args=list(server.args), env=environment, cwd=self._workspace
            )
            # What it prints is its own: it may be endless, and may name secrets.
            with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230
                async with Client(stdio_client(started, errlog=nowhere), client_info=identity) as client:
                    yield client
            return
        async with http_client(
            server.url, server.headers, read_seconds=limits.call_seconds, body_bytes=limits.answer_bytes
        ) as http:
            transport = streamable_http_client(
                server.url, http_client=http, max_sse_event_size=limits.answer_bytes
            )
            async with Client(transport, client_info=identity) as client:
                yield client

    def _usable(self) -> Client:
        if self._client is None:
            raise McpUnavailable(self.failure or "it is still starting")
        return self._client

    def _words(self, error: BaseException) -> str:
        """Why, in words for the model and the user: bounded, and without the secrets that it was given."""
        words = self._raw_words(error)
        for secret in (*self.server.env.values(), *self.server.headers.values()):
            if len(secret) >= SECRET_CHARS:
                words = words.replace(secret, "[secret]")
        return words[:DETAIL_CHARS]

    def _raw_words(self, error: BaseException) -> str:
        if isinstance(error, BaseExceptionGroup):
            return self._raw_words(error.exceptions[0])
        if isinstance(error, MCPError):
            return f"the server answered: {error.message}"
        if isinstance(error, TimeoutError):
            return f"it did not answer within {self._limits.start_seconds:g} s"
        if isinstance(error, OSError) and error.strerror:
            return f"it could not be started: {error.strerror}"
        return f"{type(error).__name__}: {error}".rstrip(": ")
