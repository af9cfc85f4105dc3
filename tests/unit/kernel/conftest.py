"""Sockets of a test's own, in a folder with a short name."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
import zmq.asyncio

from tests.unit.kernel.peer import Peer


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest_asyncio.fixture
async def context() -> AsyncIterator[zmq.asyncio.Context]:
    made = zmq.asyncio.Context()
    yield made
    made.destroy(linger=0)


@pytest_asyncio.fixture
async def peer(context: zmq.asyncio.Context, folder: Path) -> AsyncIterator[Peer]:
    made = Peer(context, folder)
    yield made
    made.close()
