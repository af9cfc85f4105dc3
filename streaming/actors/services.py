"""What the runtime lends to every actor of a process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from streaming.limits import Limits
from streaming.providers.client import ProviderClient
from streaming.providers.types import Profile
from streaming.tools.base import SessionKernel
from streaming.tools.registry import ToolRegistry

ResolveProfile = Callable[[str, str], Awaitable[Profile]]


@dataclass(frozen=True, slots=True)
class Services:
    """`resolve_profile(name, model)`: "" means the default. Raises LookupError for an unknown name.
    `open_kernel(workspace)` starts nothing: a kernel is taken when it is first used."""

    limits: Limits
    client: ProviderClient
    tools: ToolRegistry
    open_kernel: Callable[[Path], SessionKernel]
    resolve_profile: ResolveProfile
    host: str
