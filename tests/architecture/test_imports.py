"""Who may import whom, as a table. Inside `streaming` the direction is downwards only."""

from __future__ import annotations

import pytest

from tests.architecture.source import PACKAGES, Module, imports, modules, within

# Each package of ours, and the parts of the project that it may know besides itself.
ALLOWED: dict[str, tuple[str, ...]] = {
    "streaming.limits": (),
    "streaming.meters": (),
    "streaming.endings": (),
    "streaming.layer": ("streaming.endings",),
    "streaming.feed": ("streaming.limits",),
    "streaming.kernel": ("streaming.limits", "streaming.meters"),
    "streaming.providers": ("streaming.limits",),
    "streaming.progress": ("streaming.limits", "streaming.providers.events"),
    "streaming.tools": ("streaming.limits", "streaming.kernel", "streaming.providers.types"),
    "streaming.delivery": (
        "streaming.limits",
        "streaming.meters",
        "streaming.feed",
        "streaming.layer",
        "sessions_app",
    ),
    "streaming.actors": (
        "streaming.limits",
        "streaming.meters",
        "streaming.endings",
        "streaming.layer",
        "streaming.feed",
        "streaming.progress",
        "streaming.providers",
        "streaming.tools",
        "sessions_app",
    ),
    "streaming.routing": ("streaming", "sessions_app"),
    "streaming.runtime": ("streaming", "sessions_app"),
    "sessions_app": (),
    "albedo_project": (
        "streaming.limits",
        "streaming.routing",
        "streaming.runtime",
        "streaming.delivery",
        # `serve` closes its own process to the kernels that it starts
        "streaming.kernel.hardening",
        "sessions_app",
    ),
}

# Parts that decide and never wait: no framework, no event loop, no network.
PURE = (
    "streaming.limits",
    "streaming.feed",
    "streaming.progress",
    "streaming.providers.argument_text",
    "streaming.providers.breaker",
    "streaming.providers.call_drafts",
    "streaming.providers.chat_completions",
    "streaming.providers.decoder",
    "streaming.providers.errors",
    "streaming.providers.events",
    "streaming.providers.record",
    "streaming.providers.responses",
    "streaming.providers.retry",
    "streaming.providers.runaway",
    "streaming.providers.sse",
    "streaming.providers.tap",
    "streaming.providers.types",
    "streaming.actors.lifecycle",
    "streaming.actors.run",
    "streaming.actors.watchers",
    "streaming.kernel.outputs",
)
IMPURE = (
    "asyncio",
    "channels",
    "django",
    "httpx",
    "jupyter_client",
    "prometheus_client",
    "socket",
    "streaming.meters",
    "threading",
    "zmq",
)

# A foreign library's types stop at the seam that is named here.
SEAMS: dict[str, tuple[str, ...]] = {
    "httpx": ("streaming.providers.transport", "sessions_app.terminal"),
    "httpx2": ("streaming.tools.mcp",),
    "jupyter_client": ("streaming.kernel",),
    "mcp": ("streaming.tools.mcp",),
    "mcp_types": ("streaming.tools.mcp",),
    "zmq": ("streaming.kernel",),
    "daphne": ("albedo_project",),
    "twisted": ("albedo_project",),
    "uvicorn": ("albedo_project.web", "albedo_project.metrics.endpoint"),
    "prometheus_client": ("albedo_project.metrics", "sessions_app.meters", "streaming.meters"),
    "channels": ("streaming", "albedo_project"),
}


def rule_of(module: Module) -> str | None:
    """The longest entry of the table that this module is under."""
    found = [name for name in ALLOWED if within(module.name, (name,))]
    return max(found, key=len, default=None)


@pytest.mark.parametrize("rule", ALLOWED)
def test_a_package_imports_only_what_its_row_allows(rule: str) -> None:
    wrong = [
        f"{module.where}:{found.line} imports {found.module}"
        for module in modules()
        if rule_of(module) == rule
        for found in imports(module)
        if within(found.module, PACKAGES) and not within(found.module, (rule, *ALLOWED[rule]))
    ]
    assert wrong == []


def test_every_module_has_a_row() -> None:
    bare = {"streaming"}
    assert [m.where for m in modules() if rule_of(m) is None and m.name not in bare] == []


def test_what_decides_imports_neither_framework_nor_event_loop_nor_network() -> None:
    wrong = [
        f"{module.where}:{found.line} imports {found.module}"
        for module in modules("streaming")
        if is_pure(module.name)
        for found in imports(module)
        if within(found.module, IMPURE)
    ]
    assert wrong == []


def test_a_foreign_library_stops_at_its_seam() -> None:
    wrong = [
        f"{module.where}:{found.line} imports {found.module}"
        for module in modules()
        for found in imports(module)
        for library, seam in SEAMS.items()
        if within(found.module, (library,)) and not within(module.name, seam)
    ]
    assert wrong == []


def test_no_import_hides_in_a_function() -> None:
    hidden = [f"{m.where}:{found.line}" for m in modules() for found in imports(m) if found.nested]
    assert hidden == []


def is_pure(name: str) -> bool:
    """A protocol's decoder may be spread over `responses.py`, `responses_items.py` and so on."""
    return any(within(name, (pure,)) or name.startswith(pure + "_") for pure in PURE)
