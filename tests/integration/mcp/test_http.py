"""A real MCP server over streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from streaming.kernel.pool import KernelPool
from streaming.limits import McpLimits
from tests.integration.mcp.conftest import LIMITS, MakeServers
from tests.integration.mcp.support import Calls, server, until
from tests.support.mcp_process import noted, over_http
from tests.support.processes import free_port

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_it_is_called_with_its_headers_stopped_and_outlived(
    make_servers: MakeServers, pool: KernelPool, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    with over_http(tmp_path, NOTES=str(notes)) as (url, process):
        described = server({"name": "far", "transport": "http", "url": url, "headers": {"X-Mine": "mine"}})
        servers = make_servers()
        calls = Calls(await servers.offered([described], []), pool, tmp_path)
        assert (await calls.call("far__add", a=2, b=3)).text == "5"
        assert (await calls.call("far__header", name="X-Mine")).text == "mine"
        assert "characters left out" in (await calls.call("far__big", chars=200_000)).text
        slow = Calls(calls.offered, pool, tmp_path)
        calling = asyncio.create_task(slow.call("far__slow", seconds=600))
        await until(lambda: noted(notes, "(slow began)"), "the call began")
        slow.interrupted.set()
        assert (await calling).status == "interrupted"
        await until(lambda: noted(notes, "(slow cancelled)"), "the server was told")
        dying = asyncio.create_task(calls.call("far__slow", seconds=600))
        await until(lambda: len(noted(notes, "(slow began)")) == 2, "another call began")
        process.send_signal(signal.SIGKILL)
        died = await dying
        assert died.status == "error"
        assert "the MCP server 'far'" in died.text
        assert "far" in (await servers.offered([described], [])).missing


async def test_an_answer_has_a_bound(make_servers: MakeServers, pool: KernelPool, tmp_path: Path) -> None:
    with over_http(tmp_path) as (url, _):
        servers = make_servers(McpLimits(start_seconds=LIMITS.start_seconds, answer_bytes=100_000))
        offered = await servers.offered([server({"name": "far", "transport": "http", "url": url})], [])
        calls = Calls(offered, pool, tmp_path)
        assert (await calls.call("far__big", chars=1_000)).status == "ok"
        assert (await calls.call("far__big", chars=200_000)).status == "error"


async def test_nobody_there_is_told_at_once(make_servers: MakeServers) -> None:
    # Reserved for this test, and nobody listens there.
    url = f"http://127.0.0.1:{free_port()}/mcp"
    offered = await make_servers().offered([server({"name": "far", "transport": "http", "url": url})], [])
    assert offered.tools == ()
    assert "onnect" in offered.missing["far"]
