"""The tools there are, and the one way to call them: checked arguments in, a result out, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streaming.providers.types import ToolSpec
from streaming.tools.arguments import BadArguments, fit, parse_object
from streaming.tools.base import Tool, ToolContext, ToolResult, error_result
from streaming.tools.mcp.names import server_of

logger = logging.getLogger(__name__)

NAME_CHARS = 100
NONE_MISSING: Mapping[str, str] = {}
MESSAGE_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """A call that may be executed. `arguments` are what the tool gets."""

    tool: Tool
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolRefusal:
    """A call that cannot be executed; `result` tells the model why."""

    result: ToolResult


class ToolRegistry:
    """Tools by name, in the order given. Raises ValueError where two have the same name.

    `missing` says of an MCP server, by its name, why its tools are not there.
    """

    def __init__(self, tools: Iterable[Tool], missing: Mapping[str, str] = NONE_MISSING) -> None:
        given = list(tools)
        self._missing = missing
        self._tools = {tool.spec.name: tool for tool in given}
        if len(self._tools) != len(given):
            raise ValueError("two tools have the same name")

    def joined(self, tools: Iterable[Tool], missing: Mapping[str, str]) -> ToolRegistry:
        """These tools and further ones."""
        return ToolRegistry([*self._tools.values(), *tools], missing)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    @property
    def preview_keys(self) -> dict[str, str]:
        """For each tool that has one, the argument that is shown while it is being written."""
        return {spec.name: spec.preview_argument for spec in self.specs if spec.preview_argument}

    def check(self, name: str, arguments_text: str) -> ParsedArguments | ToolRefusal:
        """Read the raw arguments of a call; never raises."""
        try:
            tool = self._named(name)
            return ParsedArguments(tool, _fitting(tool, parse_object(arguments_text)))
        except BadArguments as error:
            return ToolRefusal(error_result(str(error)))

    def check_object(self, name: str, arguments: dict[str, Any]) -> ParsedArguments | ToolRefusal:
        """The same for what `parse_object` made of them: 16 MiB are not read twice."""
        try:
            tool = self._named(name)
            return ParsedArguments(tool, _fitting(tool, arguments))
        except BadArguments as error:
            return ToolRefusal(error_result(str(error)))

    async def call(self, parsed: ParsedArguments, context: ToolContext) -> ToolResult:
        """Execute once. A tool that raises gives an error result; cancellation passes through."""
        try:
            return await parsed.tool.call(context, parsed.arguments)
        except Exception as error:
            logger.exception("the tool %s failed", parsed.tool.spec.name)
            message = str(error)[:MESSAGE_CHARS]
            return error_result(f"the tool failed: {type(error).__name__}: {message}".rstrip(": "))

    def _named(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            if reason := self._missing.get(server_of(name)):
                raise BadArguments(f"the MCP server {server_of(name)!r} is not available: {reason}")
            known = ", ".join(self._tools) or "none"
            raise BadArguments(f"there is no tool named {name[:NAME_CHARS]!r}; the tools are: {known}")
        return tool


def _fitting(tool: Tool, value: dict[str, Any]) -> dict[str, Any]:
    """`value` checked, unless the tool does that itself: a schema from elsewhere is not run on this loop."""
    return value if getattr(tool, "checks_arguments", False) else fit(tool.spec.parameters, value)
