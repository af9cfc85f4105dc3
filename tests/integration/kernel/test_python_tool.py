"""The tool `python` on a real kernel: its text is the contract's, its artifacts are named in it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from streaming.kernel.session_kernel import SessionKernel
from streaming.tools.base import ToolContext, ToolResult
from streaming.tools.python import PythonTool
from streaming.tools.registry import ParsedArguments, ToolRegistry
from tests.integration.kernel.support import SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

REGISTRY = ToolRegistry([PythonTool()])


async def call(kernel: SessionKernel, folder: Path, **arguments: Any) -> tuple[ToolResult, dict[str, Any]]:
    parsed = REGISTRY.check("python", json.dumps(arguments))
    assert isinstance(parsed, ParsedArguments)
    context = ToolContext("session", folder, "call", lambda text: None, asyncio.Event(), kernel)
    result = await asyncio.wait_for(REGISTRY.call(parsed, context), SECONDS)
    return result, json.loads(result.text)


async def test_a_result_has_exactly_the_fields_of_the_contract(shared: SessionKernel, tmp_path: Path) -> None:
    result, told = await call(shared, tmp_path, code="print('hé')\n1")
    assert told == {"status": "ok", "output": "hé\n1\n", "truncated": False, "error": None, "displays": []}
    assert (result.status, result.output, result.kernel, result.state_lost) == ("ok", None, "idle", False)


async def test_an_error_is_told_with_its_traceback(shared: SessionKernel, tmp_path: Path) -> None:
    result, told = await call(shared, tmp_path, code="1/0")
    assert told["status"] == result.status == "error"
    assert set(told["error"]) == {"name", "message", "traceback"}
    assert told["error"]["name"] == "ZeroDivisionError"


async def test_artifacts_are_named_by_their_ids(shared: SessionKernel, tmp_path: Path) -> None:
    code = "from IPython.display import HTML, display\ndisplay(HTML('<b>'))\ndisplay(HTML('<i>'))"
    result, told = await call(shared, tmp_path, code=code)
    ids = [artifact.id for artifact in result.artifacts]
    assert [display["artifact"] for display in told["displays"]] == ids
    assert len(set(ids)) == 2
    assert {display["kind"] for display in told["displays"]} == {"html"}


async def test_long_output_is_cut_in_the_text_and_whole_beside_it(
    shared: SessionKernel, tmp_path: Path
) -> None:
    result, told = await call(shared, tmp_path, code="print('é' * 200_000)")
    assert told["truncated"] is True
    assert "characters left out" in told["output"]
    assert len(told["output"].encode()) < 65 * 1024
    assert result.output == "é" * 200_000 + "\n"


async def test_a_timeout_in_milliseconds_is_kept(shared: SessionKernel, tmp_path: Path) -> None:
    result, told = await call(shared, tmp_path, code="import time; time.sleep(100)", timeout_ms=300)
    assert told["status"] == result.status == "timeout"
    assert result.kernel == "idle"
