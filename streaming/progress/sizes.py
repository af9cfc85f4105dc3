"""How much memory a value holds, counted with its containers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

# Code is one for the whole process, whoever points to it.
_CODE = (type, FunctionType, BuiltinFunctionType, ModuleType)


def deep_size(*roots: object) -> int:
    """Bytes of all that can be reached from `roots` through containers and attributes, each object once."""
    seen: dict[int, object] = {}
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) not in seen and not isinstance(value, _CODE):
            seen[id(value)] = value
            waiting.extend(_parts(value))
    return sum(sys.getsizeof(value) for value in seen.values())


def shallow_size(*values: object) -> int:
    """Bytes of `values` alone, without what CPython has only one of: small integers and what is empty."""
    return sum(map(sys.getsizeof, filter(_is_own, values)))


def _is_own(value: object) -> bool:
    return value >= 257 if isinstance(value, int) else value not in ("", b"", ())


def _parts(value: Any) -> Iterable[object]:
    if isinstance(value, str | bytes | int | float):
        return ()
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    held = [getattr(value, name) for name in slots if hasattr(value, name)]
    return [*held, vars(value)] if hasattr(value, "__dict__") else held
