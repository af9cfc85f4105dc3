"""A guardian for what the servers of these tests start, and one open server for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from streaming.kernel.pool import KernelPool
from streaming.limits import KernelLimits, McpLimits
from streaming.tools.mcp.servers import McpServers

# Generous: the machine may be slow, and no test waits for it to pass.
LIMITS = McpLimits(start_seconds=100.0)
MakeServers = Callable[..., McpServers]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[KernelPool]:
    made = KernelPool(KernelLimits(prewarmed=0), os.environ)
    await made.start()
    yield made
    await made.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def make_servers(
    pool: KernelPool, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MakeServers]:
    """`make_servers(limits)`: the servers of one more session."""
    made: list[McpServers] = []

    def make(limits: McpLimits = LIMITS, workspace: Path | None = None) -> McpServers:
        folder = workspace or tmp_path_factory.mktemp("workspace")
        made.append(McpServers(limits, KernelLimits(), pool.environment, pool, folder))
        return made[-1]

    yield make
    for servers in made:
        await servers.close()
