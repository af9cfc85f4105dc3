"""What the runtime lends to every actor of a process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streaming.kernel.pool import KernelPool
from streaming.limits import Limits
from streaming.providers.client import ProviderClient
from streaming.providers.types import Profile
from streaming.tools.registry import ToolRegistry

ResolveProfile = Callable[[str, str], Awaitable[Profile]]


@dataclass(frozen=True, slots=True)
class Services:
    """`resolve_profile(name, model)`: "" means the default. Raises LookupError for an unknown name."""

    limits: Limits
    client: ProviderClient
    tools: ToolRegistry
    kernels: KernelPool
    resolve_profile: ResolveProfile
    host: str
