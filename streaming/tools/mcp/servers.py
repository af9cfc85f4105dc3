"""A session's MCP servers: opened when a run wants them, kept from run to run, closed with its actor."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streaming.limits import KernelLimits, McpLimits
from streaming.tools.base import Tool
from streaming.tools.declared import problem_of
from streaming.tools.mcp.config import McpServer, Shelter
from streaming.tools.mcp.names import offered_name

if TYPE_CHECKING:
    from streaming.tools.mcp.connection import McpConnection

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offered:
    """The tools of a run, and by server why one offers none."""

    tools: Sequence[Tool]
    missing: Mapping[str, str]


NOTHING = Offered((), {})


class McpServers:
    """One session's, used by one run at a time. Nothing is started, nor imported, before there is a server.

    `environment` is what their processes may see beside their own `env`.
    """

    def __init__(
        self,
        limits: McpLimits,
        kernel_limits: KernelLimits,
        environment: Mapping[str, str],
        shelter: Shelter,
        workspace: Path,
    ) -> None:
        self._limits = limits
        self._kernel_limits = kernel_limits
        self._environment = environment
        self._shelter = shelter
        self._workspace = workspace
        self._open: dict[str, McpConnection] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._library: Any = None

    async def offered(self, servers: Sequence[McpServer], taken: Collection[str]) -> Offered:
        """What these servers offer now, under names that are not `taken`. Waits `start_seconds` at most.

        One that does not come in time, or is gone, is started again for the next run.
        """
        self._drop(name for name, held in self._open.items() if held.server not in servers)
        if not servers:
            return NOTHING
        if self._library is None:
            # Over a second of work on a slow machine: not to be done on the loop, nor where nobody asks.
            self._library = await asyncio.to_thread(importlib.import_module, "streaming.tools.mcp.tool")
        answers = await asyncio.gather(*(self._listed(server) for server in servers))
        return self._named(servers, answers, taken)

    async def close(self) -> None:
        """End all of them. Bounded."""
        self._drop(list(self._open))
        if self._ending:
            await asyncio.wait(self._ending)

    async def _listed(self, server: McpServer) -> list[Any] | str:
        """Its tools, or why there are none. A connection that turns out to be dead is made anew once."""
        held = self._open.get(server.name)
        answer = await self._ask(held) if held is not None else ""
        return answer if isinstance(answer, list) else await self._ask(self._started(server))

    async def _ask(self, held: McpConnection) -> list[Any] | str:
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                await held.opened()
                return await held.listed()
        except TimeoutError:
            reason = f"it did not answer within {self._limits.start_seconds:g} s"
        except self._library.McpUnavailable as error:
            reason = str(error)
        if self._open.get(held.server.name) is held:
            self._drop([held.server.name])
        return reason

    def _started(self, server: McpServer) -> McpConnection:
        made: McpConnection = self._library.McpConnection(
            server, self._limits, self._environment, self._shelter, self._workspace
        )
        self._open[server.name] = made
        made.start()
        return made

    def _drop(self, names: Iterable[str]) -> None:
        for name in list(names):
            task = asyncio.create_task(self._open.pop(name).close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _named(
        self, servers: Sequence[McpServer], answers: Sequence[list[Any] | str], taken: Collection[str]
    ) -> Offered:
        tools: dict[str, Tool] = {}
        missing: dict[str, str] = {}
        for server, answer in zip(servers, answers, strict=True):
            if isinstance(answer, str):
                missing[server.name] = answer
                continue
            for listed in answer:
                name = offered_name(server.name, listed.name, {*taken, *tools})
                tool: Tool = self._library.McpTool(
                    self._open[server.name], listed, name, self._limits, self._kernel_limits
                )
                if name not in tools and name not in taken and self._fits(server, tool):
                    tools[name] = tool
        return Offered(tuple(tools.values()), missing)

    def _fits(self, server: McpServer, tool: Tool) -> bool:
        """Whether a provider can be told of it: one that cannot costs the session that tool, not its runs."""
        problem = _too_long(tool.spec.parameters, self._limits.schema_chars) or problem_of(tool.spec)
        if problem:
            logger.warning("a tool of the MCP server %s is left out: %s", server.name, problem)
        return not problem


def _too_long(parameters: Mapping[str, Any], limit_chars: int) -> str:
    try:
        chars = len(json.dumps(parameters))
    except RecursionError:
        return "its parameters are nested too deeply"
    return f"its parameters are longer than {limit_chars} characters" if chars > limit_chars else ""
