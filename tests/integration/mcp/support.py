"""Calls of offered tools as the actor makes them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.tools.base import ToolContext, ToolResult
from streaming.tools.mcp.config import McpServer
from streaming.tools.mcp.servers import Offered
from streaming.tools.registry import ToolRefusal, ToolRegistry

SECONDS = 100.0


@dataclass
class Calls:
    """The tools of one run, and a way to call them."""

    offered: Offered
    pool: KernelPool
    workspace: Path
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def names(self) -> list[str]:
        return [tool.spec.name for tool in self.offered.tools]

    async def call(self, name: str, /, **arguments: Any) -> ToolResult:
        registry = ToolRegistry([]).joined(self.offered.tools, self.offered.missing)
        parsed = registry.check(name, json.dumps(arguments))
        if isinstance(parsed, ToolRefusal):
            return parsed.result
        kernel = SessionKernel(self.pool, self.workspace)
        context = ToolContext("session", self.workspace, "call", lambda text: None, self.interrupted, kernel)
        return await asyncio.wait_for(registry.call(parsed, context), SECONDS)


def server(described: dict[str, Any]) -> McpServer:
    """A description of the API as the runtime has it."""
    return McpServer(**{**described, "args": tuple(described.get("args", ()))})


async def until(fact: Any, what: str, seconds: float = SECONDS) -> None:
    """Wait for a fact about other processes."""
    async with asyncio.timeout(seconds):
        while not fact():
            await asyncio.sleep(0.02)
