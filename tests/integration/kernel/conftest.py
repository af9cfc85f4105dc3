"""Real kernels: one pool for a module, so that most tests find a warm one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import KernelLimits

# A busy machine has the time that it needs to stop what can be stopped.
LIMITS = KernelLimits(interrupt_grace_seconds=30.0, start_seconds=50.0)
# For what can not: nothing else has to happen before it is killed.
STERN = replace(LIMITS, interrupt_grace_seconds=0.3, prewarmed=0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[KernelPool]:
    made = KernelPool(LIMITS, os.environ)
    await made.start()
    yield made
    await made.aclose()


@pytest_asyncio.fixture(loop_scope="module")
async def kernel(pool: KernelPool, tmp_path: Path) -> AsyncIterator[SessionKernel]:
    """A session's kernel, fresh for one test."""
    made = SessionKernel(pool, tmp_path)
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stern(tmp_path_factory: object) -> AsyncIterator[SessionKernel]:
    """A kernel that is killed soon after it was told to stop."""
    pool = KernelPool(STERN, os.environ)
    await pool.start()
    folder: Path = tmp_path_factory.mktemp("stern")  # type: ignore[attr-defined]
    made = SessionKernel(pool, folder)
    yield made
    await made.close()
    await pool.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(pool: KernelPool, tmp_path_factory: object) -> AsyncIterator[SessionKernel]:
    """One kernel for the tests of a module that do not care what others left in it."""
    folder: Path = tmp_path_factory.mktemp("workspace")  # type: ignore[attr-defined]
    made = SessionKernel(pool, folder)
    yield made
    await made.close()
