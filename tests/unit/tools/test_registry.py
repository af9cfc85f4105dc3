"""Calls by name: checked, executed, and never more than a result."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streaming.tools.python import PythonTool
from streaming.tools.registry import ParsedArguments, ToolRefusal, ToolRegistry
from tests.unit.tools.support import READY, Echo, context_of


def refused(outcome: ParsedArguments | ToolRefusal) -> str:
    assert isinstance(outcome, ToolRefusal)
    assert outcome.result.status == "error"
    return outcome.result.text


def accepted(outcome: ParsedArguments | ToolRefusal) -> ParsedArguments:
    assert isinstance(outcome, ParsedArguments)
    return outcome


def test_tools_keep_their_order() -> None:
    registry = ToolRegistry([READY, PythonTool()])
    assert [spec.name for spec in registry.specs] == ["echo", "python"]


def test_two_tools_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="same name"):
        ToolRegistry([Echo(), Echo()])


def test_good_arguments_are_what_the_tool_gets() -> None:
    registry = ToolRegistry([Echo()])
    assert accepted(registry.check("echo", '{"text": "a", "more": 1}')).arguments == {"text": "a"}
    assert accepted(registry.check("echo", '{"text": "a\\u0000"}')).arguments == {"text": "a\ufffd"}
    assert accepted(registry.check_object("echo", {"text": "a", "more": 1})).arguments == {"text": "a"}


def test_each_refusal_says_what_was_wrong() -> None:
    registry = ToolRegistry([Echo()])
    assert "no tool named 'ech'; the tools are: echo" in refused(registry.check("ech", "{}"))
    assert "required property" in refused(registry.check("echo", ""))
    assert "not valid JSON" in refused(registry.check("echo", "{"))
    assert "not of type" in refused(registry.check_object("echo", {"text": 1}))
    assert len(refused(registry.check("x" * 100_000, "{}"))) < 300


async def test_a_call_gives_the_tools_result(tmp_path: Path) -> None:
    registry = ToolRegistry([Echo()])
    parsed = accepted(registry.check("echo", '{"text": "a"}'))
    assert (await registry.call(parsed, context_of(tmp_path))).text == "a"


async def test_a_tool_that_raises_gives_an_error_result(tmp_path: Path) -> None:
    registry = ToolRegistry([Echo(KeyError("m" * 100_000))])
    parsed = accepted(registry.check("echo", '{"text": "a"}'))
    result = await registry.call(parsed, context_of(tmp_path))
    assert result.status == "error"
    assert result.text.startswith("error: the tool failed: KeyError: 'mmm")
    assert len(result.text) < 2_100
    assert "Traceback" not in result.text


async def test_cancellation_passes_through(tmp_path: Path) -> None:
    registry = ToolRegistry([Echo(asyncio.CancelledError())])
    parsed = accepted(registry.check("echo", '{"text": "a"}'))
    with pytest.raises(asyncio.CancelledError):
        await registry.call(parsed, context_of(tmp_path))


def test_further_tools_join_and_a_missing_server_is_told_with_its_reason() -> None:
    registry = ToolRegistry([Echo()])
    joined = registry.joined([PythonTool()], {"files": "it is away"})
    assert [spec.name for spec in joined.specs] == ["echo", "python"]
    assert [spec.name for spec in registry.specs] == ["echo"]
    assert refused(joined.check("files__read", "{}")) == (
        "error: the MCP server 'files' is not available: it is away"
    )
    assert "the tools are: echo" in refused(joined.check("other__read", "{}"))


def test_a_tool_that_checks_its_own_arguments_gets_them_as_they_are() -> None:
    tool = Echo()
    tool.checks_arguments = True  # type: ignore[attr-defined]
    assert accepted(ToolRegistry([tool]).check("echo", '{"more": 1}')).arguments == {"more": 1}
    assert "must be a JSON object" in refused(ToolRegistry([tool]).check("echo", "[]"))
