"""Tools named by dotted path: imported, made, and checked to be what a provider can be told of."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from streaming.limits import Limits
from streaming.providers.types import ToolSpec
from streaming.tools.base import Tool

# What every provider takes for a function's name.
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class BadDeclaration(Exception):
    """A path names no usable tool; the message says which and why."""


def declared(paths: Iterable[str], limits: Limits) -> list[Tool]:
    """The tools at these paths, in this order. Raises BadDeclaration."""
    return [_checked(path, _made(path, limits)) for path in paths]


def problem_of(spec: ToolSpec) -> str:
    """What a provider would refuse in this declaration; empty where nothing."""
    if not NAME.fullmatch(spec.name):
        return f"its name {spec.name[:64]!r} is not 1 to 64 of a-z, A-Z, 0-9, _ and -"
    try:
        Draft202012Validator.check_schema(dict(spec.parameters))
    except SchemaError as error:
        return f"its parameters are no JSON Schema: {error.message[:300]}"
    except RecursionError:
        return "its parameters are nested too deeply"
    if spec.parameters.get("type") != "object":
        return 'its parameters are not a schema of "type": "object"'
    if spec.max_argument_chars is not None and spec.max_argument_chars < 1:
        return "its max_argument_chars is not at least 1"
    if spec.preview_argument and spec.preview_argument not in spec.parameters.get("properties", {}):
        return f"its preview argument {spec.preview_argument!r} is not among its parameters"
    return ""


def _made(path: str, limits: Limits) -> Any:
    """An instance stands as it is; a class is made by its `from_limits`, or with nothing."""
    module, _, attribute = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, type):
            return found
        maker = getattr(found, "from_limits", None)
        return found() if maker is None else maker(limits)
    except Exception as error:
        # Whatever a module does while it is imported, the start says which path was at fault.
        raise BadDeclaration(f"{path}: {type(error).__name__}: {error}") from error


def _checked(path: str, tool: Any) -> Tool:
    if not isinstance(getattr(tool, "spec", None), ToolSpec) or not callable(getattr(tool, "call", None)):
        raise BadDeclaration(f"{path}: a tool has a `spec` (a ToolSpec) and a coroutine `call`")
    problem = problem_of(tool.spec)
    if problem:
        raise BadDeclaration(f"{path}: {problem}")
    made: Tool = tool
    return made
