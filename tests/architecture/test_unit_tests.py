"""Every module of the live half has its own unit test file, so that none is covered only by the way."""

from __future__ import annotations

from tests.architecture.source import PROJECT, Module, modules

# Modules without one, each with its reason.
WITHOUT: dict[str, str] = {
    "streaming/limits.py": "constants; every bound is tested where it bounds",
    "streaming/providers/types.py": "plain values",
    "streaming/providers/events.py": "plain values",
    "streaming/providers/errors.py": "plain values",
}


def file_for(module: Module) -> str:
    """`streaming/providers/sse.py` is tested by `tests/unit/providers/test_sse.py`."""
    inner = module.path.relative_to(PROJECT / "streaming")
    return str(inner.with_name(f"test_{inner.name}"))


def test_every_module_of_the_live_half_has_its_test_file() -> None:
    wanted = {m.where: file_for(m) for m in modules("streaming") if m.path.name != "__init__.py"}
    bare = {
        where
        for where, name in wanted.items()
        if where not in WITHOUT and not (PROJECT / "tests/unit" / name).exists()
    }
    assert bare == set()


def test_the_list_of_exceptions_names_only_modules_that_exist() -> None:
    assert [name for name in WITHOUT if not (PROJECT / name).exists()] == []
