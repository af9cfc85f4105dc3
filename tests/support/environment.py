"""The environment of a test: nothing of the developer's own configuration in it."""

from __future__ import annotations

from collections.abc import MutableMapping

KEPT = frozenset({"ALBEDO_TEST_LIVE_VENDOR", "ALBEDO_TEST_MODE", "ALBEDO_TEST_SLOW"})
PREFIXES = ("ALBEDO_", "OPENAI_", "ANTHROPIC_", "AZURE_", "OPENROUTER_", "DJANGO_")
NAMES = frozenset(
    {
        "ALLOWED_HOSTS",
        "CSRF_TRUSTED_ORIGINS",
        "DATABASE_URL",
        "DATA_DIR",
        "ENCRYPTION_KEY",
        "PORT",
        "REDIS_URL",
        "SECRET_KEY",
    }
    | {name for base in ("http_proxy", "https_proxy", "all_proxy") for name in (base, base.upper())}
)


def clean_environment(environment: MutableMapping[str, str]) -> None:
    """Take out what would reach a provider, a database or a proxy of the machine that runs the tests."""
    for name in list(environment):
        if name in KEPT:
            continue
        if name in NAMES or name.startswith(PREFIXES):
            del environment[name]
