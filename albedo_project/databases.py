"""Builds Django's DATABASES entry: SQLite in the data folder, or PostgreSQL from a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

# FULL: a 202 means durable, also across a power cut. The size limit keeps one burst from leaving a
# huge log file behind for good.
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
    "PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864"
)
POSTGRES_SCHEMES = ("postgres", "postgresql")


def sqlite(file: Path) -> dict[str, Any]:
    """IMMEDIATE, since a deferred transaction that turns into a write fails at once, whatever the timeout."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(file),
        # Kept open by the threads that use it: opening costs more than most queries.
        "CONN_MAX_AGE": 60,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": SQLITE_PRAGMAS},
    }


def postgresql(url: str, pool_max: int) -> dict[str, Any]:
    """From `postgresql://user:password@host:port/name?sslmode=...`; errors never show the URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad() from None
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in POSTGRES_SCHEMES or not name:
        raise _bad()
    options: dict[str, Any] = {
        "connect_timeout": 10,
        "application_name": "albedo",
        **dict(parse_qsl(parts.query)),
    }
    options["pool"] = {"min_size": 0, "max_size": pool_max, "timeout": 20}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        # a folder of a socket comes as ?host=/run/postgresql
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }


def _bad() -> ImproperlyConfigured:
    return ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:port/name.")
