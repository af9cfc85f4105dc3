"""A tool of an MCP server as any other tool: bounded, timed, interrupted, and never more than a result."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Literal

from mcp_types import Tool as ListedTool

from streaming.kernel.session_kernel import new_artifact_id
from streaming.kernel.text import clean
from streaming.limits import KernelLimits, McpLimits
from streaming.providers.types import ToolSpec
from streaming.tools.base import ToolContext, ToolResult, error_result
from streaming.tools.mcp.connection import McpConnection, McpUnavailable
from streaming.tools.mcp.results import tool_result

# How long telling the server of a stop may hold the stop up.
CANCEL_SECONDS = 2.0


class McpTool:
    """`max_argument_chars` is the server's bound for all tools: an MCP server declares none."""

    checks_arguments = True

    def __init__(
        self,
        connection: McpConnection,
        listed: ListedTool,
        name: str,
        limits: McpLimits,
        kernel_limits: KernelLimits,
    ) -> None:
        self._connection = connection
        self._listed_name = listed.name
        self._limits = limits
        self._kernel_limits = kernel_limits
        text = listed.description or listed.title or ""
        self.spec = ToolSpec(name, clean(text[: limits.description_chars]), listed.input_schema)

    async def call(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        calling = asyncio.create_task(self._connection.call(self._listed_name, arguments))
        stopping = asyncio.create_task(context.interrupted.wait())
        try:
            await asyncio.wait(
                {calling, stopping},
                timeout=self._limits.call_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not calling.done():
                return await self._stopped(calling, context.interrupted.is_set())
        finally:
            stopping.cancel()
            calling.cancel()
        return self._ended(calling)

    def _ended(self, calling: asyncio.Task[Any]) -> ToolResult:
        try:
            return tool_result(calling.result(), self._kernel_limits, new_artifact_id)
        except McpUnavailable as error:
            return error_result(f"the MCP server {self._connection.server.name!r}: {error}")

    async def _stopped(self, calling: asyncio.Task[Any], interrupted: bool) -> ToolResult:
        calling.cancel()
        await asyncio.wait({calling}, timeout=CANCEL_SECONDS)
        if not calling.done():
            calling.add_done_callback(_forget)
        status: Literal["interrupted", "timeout"] = "interrupted" if interrupted else "timeout"
        words = "was interrupted" if interrupted else f"took longer than {self._limits.call_seconds:g} s"
        return ToolResult(status, f"error: the call {words}", interrupted_at=datetime.now(UTC))


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
