"""The one place that wires the live half: limits from settings, provider client, kernels, tools, host."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from sessions_app.models import Session
from sessions_app.store import claims, executor, profiles
from sessions_app.store.sessions import resolve_mcp_servers
from streaming import meters
from streaming.actors.host import ActorHost, host_name
from streaming.actors.services import Services
from streaming.actors.session import SessionActor
from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import (
    ActorLimits,
    DeliveryLimits,
    FeedLimits,
    KernelLimits,
    Limits,
    McpLimits,
    ProgressLimits,
    WireLimits,
)
from streaming.providers.client import ProviderClient
from streaming.providers.demo import demo_script
from streaming.providers.scripted import ScriptedProvider
from streaming.providers.types import Profile
from streaming.tools.declared import BadDeclaration, declared
from streaming.tools.mcp.config import McpServer
from streaming.tools.mcp.servers import McpServers
from streaming.tools.registry import ToolRegistry

Group = TypeVar("Group")


def limits_from_settings() -> Limits:
    """Every field of `Limits` from `settings.ALBEDO["<group>_<field>"]`."""
    return Limits(
        wire=_group("wire", WireLimits),
        progress=_group("progress", ProgressLimits),
        feed=_group("feed", FeedLimits),
        delivery=_group("delivery", DeliveryLimits),
        kernel=_group("kernel", KernelLimits),
        mcp=_group("mcp", McpLimits),
        actor=_group("actor", ActorLimits),
    )


def _group(name: str, kind: type[Group]) -> Group:
    """`settings.ALBEDO` has each value in the type of the field's default."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    return kind(**{field.name: settings.ALBEDO[f"{name}_{field.name}"] for field in fields})


def _tools(limits: Limits) -> ToolRegistry:
    """Those of `settings.TOOLS`. Raises ImproperlyConfigured."""
    try:
        return ToolRegistry(declared(settings.TOOLS, limits))
    except (BadDeclaration, ValueError) as error:
        raise ImproperlyConfigured(f"The environment variable ALBEDO_TOOLS: {error}.") from error


class Runtime:
    """What a process that runs actors holds. `start` and `drain` belong to one event loop."""

    def __init__(self) -> None:
        self.limits = limits_from_settings()
        self.name = host_name()
        self._client = ProviderClient(limits=self.limits.wire)
        self._kernels = KernelPool(
            self.limits.kernel, settings.ENVIRONMENT, extra_names=settings.KERNEL_ENVIRONMENT_NAMES
        )
        self._demo = ScriptedProvider(demo_script, keep=0)
        self._services = Services(
            limits=self.limits,
            client=self._client,
            tools=_tools(self.limits),
            open_kernel=lambda workspace: SessionKernel(self._kernels, workspace),
            resolve_profile=self._resolve_profile,
            open_mcp=self._open_mcp,
            resolve_mcp=_resolve_mcp,
            host=self.name,
        )
        self.host = ActorHost(self._make_actor, self.limits.actor, self.name, self._client.report)

    async def start(self, *, alone: bool) -> None:
        """Take up the work. `alone`: no other process has this database, so every lease there is is dead."""
        if alone:
            await executor.write(claims.free_all)
        await self._demo.start()
        await self._kernels.start()
        meters.breakers.report = lambda: self._client.report()["breakers"]
        self.host.start(alone=alone)

    async def drain(self) -> None:
        """Let go in order: steps end or are interrupted, leases are released, kernels are gone."""
        await self.host.drain()
        await self._kernels.aclose()
        await self._client.aclose()
        await self._demo.stop()

    def _make_actor(self, claim: claims.Claim, channel: str) -> SessionActor:
        return SessionActor(claim, channel, self._services)

    def _open_mcp(self, workspace: Path) -> McpServers:
        limits = self.limits
        return McpServers(limits.mcp, limits.kernel, self._kernels.environment, self._kernels, workspace)

    async def _resolve_profile(self, name: str, model: str) -> Profile:
        try:
            found = await executor.read(profiles.resolve, name)
        except profiles.UnknownProfile as error:
            raise LookupError(f"There is no provider profile {name!r}.") from error
        values = {field.name: getattr(found, field.name) for field in dataclasses.fields(Profile)}
        base_url = self._demo.base_url if found.name == profiles.DEMO else found.base_url
        return Profile(**{**values, "base_url": base_url, "model": model or found.model})


async def _resolve_mcp(session: Session) -> list[McpServer]:
    found = await executor.read(resolve_mcp_servers, session)
    names = [field.name for field in dataclasses.fields(McpServer)]
    return [McpServer(**{name: getattr(server, name) for name in names}) for server in found]
