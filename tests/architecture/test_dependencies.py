"""Each library is declared, pinned, told with its reason, and used."""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source import PACKAGES, PROJECT, imports, modules

# Declared though nothing imports them by name.
NOT_IMPORTED: dict[str, str] = {
    "channels-redis": "named in settings by dotted path",
    "psycopg": "Django's PostgreSQL backend",
    "ipykernel": "started as a kernel's own process",
    "servestatic": "named in settings by dotted path",
}
# What is not the product, and may need more.
CHECKING = ("tests", "scripts", "bench")
# Imported though not declared: part of a declared one, which brings it.
BROUGHT_ALONG: dict[str, str] = {
    "anyio": "mcp stands on it",
    "asgiref": "Django and channels stand on it",
    "autobahn": "daphne's WebSocket protocol",
    "httpcore": "httpx stands on it",
    "httpx2": "mcp's transport over HTTP",
    "mcp-types": "mcp's messages",
    "pydantic": "django-ninja's schemas",
    "redis": "channels-redis stands on it",
    "pyzmq": "jupyter-client's sockets",
    "traitlets": "jupyter-client's configuration",
    "twisted": "daphne's reactor",
    "zope-interface": "twisted's interfaces",
}


def declared(name: str) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in (PROJECT / name).read_text("utf-8").splitlines())
    return {canonicalize_name(Requirement(line).name) for line in lines if line}


def imported(*packages: str) -> set[str]:
    owners = packages_distributions()
    tops = {found.module.partition(".")[0] for module in modules(*packages) for found in imports(module)}
    foreign = tops - set(sys.stdlib_module_names) - set(PACKAGES) - set(CHECKING) - {"manage"}
    return {canonicalize_name(owners[top][0]) for top in foreign}


def test_what_is_imported_is_declared() -> None:
    assert imported() - declared("requirements.in") - set(BROUGHT_ALONG) == set()


def test_what_the_tests_import_is_declared() -> None:
    known = declared("requirements.in") | declared("requirements-dev.in")
    assert imported(*CHECKING) - known - set(BROUGHT_ALONG) == set()


def test_what_is_declared_is_imported() -> None:
    assert declared("requirements.in") - imported() - set(NOT_IMPORTED) == set()


def test_every_package_is_pinned() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        lines = [
            line for line in (PROJECT / name).read_text("utf-8").splitlines() if line[:1] not in ("#", "-")
        ]
        assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)] == []
        assert lines


def test_every_direct_dependency_is_told_with_its_reason() -> None:
    told = re.findall(
        r"^\| `([^`]+)` \| [^|]+ \|$", (PROJECT / "docs/dependencies.md").read_text("utf-8"), re.M
    )
    assert set(told) == declared("requirements.in") | declared("requirements-dev.in")
