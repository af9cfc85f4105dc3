"""The declaration of `python`, and its result where no kernel can be had."""

from __future__ import annotations

import json
from pathlib import Path

from streaming.limits import KernelLimits
from streaming.tools.python import PythonTool
from streaming.tools.registry import ParsedArguments, ToolRefusal, ToolRegistry
from tests.unit.tools.support import context_of

REGISTRY = ToolRegistry([PythonTool()])


def test_it_is_declared_as_the_contract_says() -> None:
    spec = PythonTool().spec
    assert (spec.name, spec.strict, spec.preview_argument) == ("python", None, "code")
    assert spec.max_argument_chars == 16 * 1024 * 1024
    assert spec.parameters["required"] == ["code"]
    assert set(spec.parameters["properties"]) == {"code", "timeout_ms"}


def test_the_timeout_is_checked() -> None:
    for value in ("0", "3600001", '"5"', "1.5", "true", "null"):
        outcome = REGISTRY.check("python", f'{{"code": "1", "timeout_ms": {value}}}')
        assert isinstance(outcome, ToolRefusal), value
    for value in ("1", "3600000", "2.0"):
        assert isinstance(
            REGISTRY.check("python", f'{{"code": "1", "timeout_ms": {value}}}'), ParsedArguments
        )


def test_the_longest_timeout_is_the_limits() -> None:
    registry = ToolRegistry([PythonTool(KernelLimits(max_timeout_seconds=2))])
    assert isinstance(registry.check("python", '{"code": "1", "timeout_ms": 2001}'), ToolRefusal)


async def test_a_kernel_that_cannot_be_had_is_an_error_result(tmp_path: Path) -> None:
    result = await PythonTool().call(context_of(tmp_path), {"code": "1"})
    told = json.loads(result.text)
    assert (result.status, result.kernel) == ("error", None)
    assert told["error"]["name"] == "KernelStartFailed"
    assert (told["status"], told["output"], told["truncated"], told["displays"]) == ("error", "", False, [])


async def test_a_call_stopped_before_it_began_is_interrupted(tmp_path: Path) -> None:
    context = context_of(tmp_path)
    context.interrupted.set()
    result = await PythonTool().call(context, {"code": "1"})
    assert json.loads(result.text)["status"] == result.status == "interrupted"
    assert result.interrupted_at is not None
