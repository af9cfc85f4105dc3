"""Tools by dotted path: what is taken, and how each unusable one is told of."""

from __future__ import annotations

from typing import Any

import pytest

from streaming.limits import Limits, WireLimits
from streaming.providers.types import ToolSpec
from streaming.tools.declared import BadDeclaration, declared, problem_of
from tests.unit.tools.support import READY, Echo

HERE = "tests.unit.tools.test_declared"
PYTHON = "streaming.tools.python.PythonTool"


class NoSpec:
    async def call(self) -> None: ...


class Explodes:
    def __init__(self) -> None:
        raise RuntimeError("not today")


def spec(**fields: Any) -> ToolSpec:
    return ToolSpec(**{"name": "t", "description": "", "parameters": {"type": "object"}, **fields})


def test_classes_and_instances_are_found_and_keep_their_order() -> None:
    found = declared(["tests.unit.tools.support.READY", PYTHON, "tests.unit.tools.support.Echo"], Limits())
    assert found[0] is READY
    assert found[1].spec.name == "python"
    assert isinstance(found[2], Echo)


def test_a_class_that_takes_limits_gets_them() -> None:
    (python,) = declared([PYTHON], Limits(wire=WireLimits(python_argument_chars=77)))
    assert python.spec.max_argument_chars == 77


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing", "ValueError"),
        ("not.there.Tool", "ModuleNotFoundError"),
        ("streaming.tools.python.NoTool", "AttributeError"),
        (f"{HERE}.NoSpec", "a tool has a `spec`"),
        (f"{HERE}.Explodes", "RuntimeError: not today"),
    ],
)
def test_what_is_no_tool_is_told_with_its_path(path: str, words: str) -> None:
    with pytest.raises(BadDeclaration) as raised:
        declared([path], Limits())
    assert path in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "a b"}, "its name"),
        ({"name": "x" * 65}, "its name"),
        ({"parameters": {"type": "object", "required": 3}}, "no JSON Schema"),
        ({"parameters": {"type": "string"}}, "not a schema of"),
        ({"max_argument_chars": 0}, "max_argument_chars"),
        ({"preview_argument": "code"}, "preview argument"),
    ],
)
def test_what_a_provider_would_refuse_is_found_at_the_start(fields: dict[str, Any], words: str) -> None:
    assert words in problem_of(spec(**fields))
    assert problem_of(spec()) == ""
