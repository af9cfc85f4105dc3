"""What the runtime lends to every actor of a process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from sessions_app.models import Session
from streaming.limits import Limits
from streaming.providers.client import ProviderClient
from streaming.providers.types import Profile
from streaming.tools.base import SessionKernel
from streaming.tools.mcp.config import McpServer
from streaming.tools.mcp.servers import McpServers
from streaming.tools.registry import ToolRegistry

ResolveProfile = Callable[[str, str], Awaitable[Profile]]
ResolveMcp = Callable[[Session], Awaitable[list[McpServer]]]


@dataclass(frozen=True, slots=True)
class Services:
    """`resolve_profile(name, model)`: "" means the default. Raises LookupError for an unknown name.
    `open_kernel(workspace)` starts nothing: a kernel is taken when it is first used. Nor does
    `open_mcp(workspace)`; `resolve_mcp(session)` names the servers that a run of it has."""

    limits: Limits
    client: ProviderClient
    tools: ToolRegistry
    open_kernel: Callable[[Path], SessionKernel]
    resolve_profile: ResolveProfile
    open_mcp: Callable[[Path], McpServers]
    resolve_mcp: ResolveMcp
    host: str
