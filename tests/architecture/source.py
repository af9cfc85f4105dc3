"""The project's source as the architecture tests see it: modules, their imports, their lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("albedo_project", "sessions_app", "streaming")
SKIPPED = frozenset({".venv", ".git", "data", "node_modules", "__pycache__", "staticfiles"})
TEXT_SUFFIXES = frozenset({".py", ".md", ".toml", ".txt", ".in", ".html", ".js", ".css", ".json", ".yml", ""})


@dataclass(frozen=True)
class Import:
    """One imported module, as deep as the statement names it; `nested` where it stands inside a function."""

    module: str
    line: int
    nested: bool


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    text: str

    @property
    def where(self) -> str:
        return str(self.path.relative_to(PROJECT))


@cache
def modules(*packages: str) -> tuple[Module, ...]:
    """Every Python file of `packages` (all three without one), migrations left out: Django writes those."""
    found = []
    for package in packages or PACKAGES:
        for path in sorted((PROJECT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                parts = path.relative_to(PROJECT).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                found.append(Module(name, path, path.read_text("utf-8")))
    return tuple(found)


def imports(module: Module) -> Iterator[Import]:
    yield from _walk(ast.parse(module.text), module, nested=False)


def _walk(node: ast.AST, module: Module, nested: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, nested) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(module, child)
            yield from (Import(f"{base}.{alias.name}", child.lineno, nested) for alias in child.names)
        inside = nested or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, module, inside)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    kept = parts if module.path.name == "__init__.py" else parts[:-1]
    base = kept[: len(kept) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


@cache
def text_files() -> tuple[Path, ...]:
    """Every text file that belongs to the project, wherever it stands."""
    found: list[Path] = []
    folders = [PROJECT]
    while folders:
        for path in folders.pop().iterdir():
            if path.is_dir():
                if path.name not in SKIPPED and not path.name.endswith(("_cache", ".egg-info")):
                    folders.append(path)
            elif path.suffix in TEXT_SUFFIXES and b"\x00" not in path.read_bytes():
                found.append(path)
    return tuple(sorted(path for path in found if ".hypothesis" not in path.parts))


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)
