"""A real MCP server over stdio: what is offered, called, bounded, stopped, and what is left of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from streaming.kernel.pool import KernelPool
from streaming.limits import McpLimits
from tests.integration.mcp.conftest import LIMITS, MakeServers
from tests.integration.mcp.support import Calls, server, until
from tests.support.mcp_process import is_gone, noted, stdio

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    make_servers: MakeServers, pool: KernelPool, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Calls]:
    folder = tmp_path_factory.mktemp("shared")
    servers = make_servers(workspace=folder)
    described = stdio(NOTES=str(folder / "notes"), MINE="canary-0f3a77")
    yield Calls(await servers.offered([server(described)], []), pool, folder)


async def test_its_tools_are_offered_as_it_declares_them(shared: Calls) -> None:
    specs = {tool.spec.name: tool.spec for tool in shared.offered.tools}
    assert {"tests__add", "tests__big", "tests__slow"} <= specs.keys()
    added = specs["tests__add"]
    assert added.description == "Add two numbers."
    assert set(added.parameters["properties"]) == {"a", "b"}
    assert (added.strict, added.max_argument_chars, added.preview_argument) == (None, None, None)
    assert shared.offered.missing == {}


async def test_a_name_that_no_provider_takes_is_changed_and_still_called(shared: Calls) -> None:
    (name,) = [name for name in shared.names if name.startswith("tests__odd")]
    assert len(name) <= 64
    assert name.replace("_", "").isalnum()
    assert (await shared.call(name)).text == "odd"


async def test_a_call_gives_what_the_server_answers(shared: Calls) -> None:
    result = await shared.call("tests__add", a=2, b=3)
    assert (result.status, result.text, result.output, result.kernel) == ("ok", "5", None, None)


async def test_what_the_server_refuses_is_an_error_result(shared: Calls) -> None:
    failed = await shared.call("tests__fail")
    assert failed.status == "error"
    assert "fail" in failed.text
    unfit = await shared.call("tests__add", a="many")
    assert unfit.status == "error"
    assert "valid" in unfit.text
    assert "no tool named 'tests__none'" in (await shared.call("tests__none")).text


async def test_a_refusal_does_not_repeat_a_secret_of_ours(shared: Calls) -> None:
    refused = await shared.call("tests__refuse")
    assert refused.status == "error"
    assert refused.text == "error: the MCP server 'tests': the server answered: no luck with [secret]"


async def test_a_long_answer_is_cut_for_the_model_and_whole_in_history(shared: Calls) -> None:
    result = await shared.call("tests__big", chars=200_000)
    assert "characters left out" in result.text
    assert len(result.text.encode()) < 65 * 1024
    assert result.output == "é" * 200_000


async def test_a_picture_is_kept_as_an_artifact(shared: Calls) -> None:
    result = await shared.call("tests__picture")
    (artifact,) = result.artifacts
    assert (artifact.mime_type, artifact.width, artifact.height) == ("image/png", 1, 1)
    assert result.text == "[picture-1.png: image/png, 1 x 1]"


async def test_it_sees_its_own_variables_and_none_of_the_servers(shared: Calls) -> None:
    assert (await shared.call("tests__variable", name="MINE")).text == "canary-0f3a77"
    for hidden in ("DATA_DIR", "DJANGO_SETTINGS_MODULE"):
        assert (await shared.call("tests__variable", name=hidden)).text == "none"
    assert (await shared.call("tests__folder")).text == str(shared.workspace)


async def test_a_stop_cancels_the_request_and_the_server_serves_on(shared: Calls) -> None:
    notes = shared.workspace / "notes"
    mine = Calls(shared.offered, shared.pool, shared.workspace)
    calling = asyncio.create_task(mine.call("tests__slow", seconds=600))
    await until(lambda: noted(notes, "(slow began)"), "the call began")
    mine.interrupted.set()
    result = await calling
    assert result.status == "interrupted"
    assert result.interrupted_at is not None
    await until(lambda: noted(notes, "(slow cancelled)"), "the server was told")
    assert (await shared.call("tests__add", a=1, b=1)).text == "2"


async def test_the_same_server_serves_the_next_run(
    make_servers: MakeServers, pool: KernelPool, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    servers, described = make_servers(), server(stdio(NOTES=str(notes)))
    for _ in range(2):
        await servers.offered([described], [])
    assert len(noted(notes, r"pid (\d+)")) == 1
    await servers.offered([], [])
    (pid,) = noted(notes, r"pid (\d+)")
    await until(lambda: is_gone(pid), "a server that is configured no more ends")


async def test_a_call_that_takes_too_long_ends_as_a_timeout(
    make_servers: MakeServers, pool: KernelPool, tmp_path: Path
) -> None:
    servers = make_servers(McpLimits(start_seconds=LIMITS.start_seconds, call_seconds=0.2))
    calls = Calls(await servers.offered([server(stdio())], []), pool, tmp_path)
    result = await calls.call("tests__slow", seconds=600)
    assert result.status == "timeout"
    assert "longer than 0.2 s" in result.text


async def test_a_server_that_dies_is_an_error_result_and_back_in_the_next_run(
    make_servers: MakeServers, pool: KernelPool, tmp_path: Path
) -> None:
    servers, described = make_servers(), server(stdio())
    calls = Calls(await servers.offered([described], []), pool, tmp_path)
    died = await calls.call("tests__die")
    assert died.status == "error"
    assert "the MCP server 'tests'" in died.text
    assert (await calls.call("tests__add", a=1, b=2)).status == "error"
    again = Calls(await servers.offered([described], []), pool, tmp_path)
    assert (await again.call("tests__add", a=1, b=2)).text == "3"


async def test_one_that_does_not_start_costs_its_own_tools_alone(
    make_servers: MakeServers, pool: KernelPool, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    servers = make_servers(McpLimits(start_seconds=LIMITS.start_seconds))
    absent = server({"name": "absent", "transport": "stdio", "command": "/no/such/program"})
    calls = Calls(await servers.offered([absent, server(stdio())], []), pool, tmp_path)
    assert "No such file" in calls.offered.missing["absent"]
    refused = await calls.call("absent__tool")
    assert refused.status == "error"
    assert "'absent' is not available" in refused.text
    assert (await calls.call("tests__add", a=1, b=2)).text == "3"
    slow = make_servers(McpLimits(start_seconds=0.5))
    deaf = server(stdio("deaf", "--deaf", NOTES=str(notes)))
    assert "did not answer within 0.5 s" in (await slow.offered([deaf], [])).missing["deaf"]
    await slow.close()
    await until(lambda: all(is_gone(pid) for pid in noted(notes, r"pid (\d+)")), "nothing of it is left")


async def test_all_that_it_started_ends_with_the_session(
    make_servers: MakeServers, pool: KernelPool, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    servers = make_servers()
    offered = await servers.offered([server(stdio(NOTES=str(notes)))], [])
    left = (await Calls(offered, pool, tmp_path).call("tests__leave_behind")).text
    (pid,) = noted(notes, r"pid (\d+)")
    assert not is_gone(left)
    await servers.close()
    await until(lambda: is_gone(pid) and is_gone(left), "nothing is left")


async def test_more_tools_than_may_be_offered_are_left_out(make_servers: MakeServers) -> None:
    servers = make_servers(McpLimits(start_seconds=LIMITS.start_seconds, tools=2, description_chars=3))
    offered = await servers.offered([server(stdio())], ["tests__add"])
    assert len(offered.tools) == 2
    assert all(len(tool.spec.description) <= 3 for tool in offered.tools)
    assert "tests__add" not in [tool.spec.name for tool in offered.tools]
    narrow = make_servers(McpLimits(start_seconds=LIMITS.start_seconds, schema_chars=10))
    assert (await narrow.offered([server(stdio())], [])).tools == ()
