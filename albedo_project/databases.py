"""Builds Django's DATABASES entry: SQLite in the data folder, or PostgreSQL from a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from albedo_project.bounded_postgresql import bounded_connection

# FULL: a 202 means durable, also across a power cut. The size limit keeps one burst from leaving a
# huge log file behind for good. None of these writes: a connection has to open while another program does.
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
    "PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864"
)
POSTGRES_SCHEMES = ("postgres", "postgresql")

CONNECT_SECONDS = 5
# How long a request waits for one of the process's connections, or for a server that accepts none, at most.
POOL_SECONDS = 5.0
# The server ends a statement itself; only one that cannot say so is given up on, this much later.
ANSWER_SECONDS = 5.0
# A peer that is gone without a word: whoever sends notices after the first, whoever waits after the rest.
TCP = {"tcp_user_timeout": 15_000, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


def sqlite(file: Path, busy_seconds: float) -> dict[str, Any]:
    """IMMEDIATE, since a deferred transaction that turns into a write fails at once, whatever the timeout."""
    return {
        "ENGINE": "albedo_project.guarded_sqlite3",
        "NAME": str(file),
        # Kept open by the threads that use it: opening costs more than most queries.
        "CONN_MAX_AGE": 60,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": busy_seconds,
            "init_command": SQLITE_PRAGMAS,
        },
    }


def postgresql(url: str, pool_max: int, busy_seconds: float, statement_seconds: float) -> dict[str, Any]:
    """From `postgresql://user:password@host:port/name?sslmode=...`; errors never show the URL.

    What the URL's query says wins over what stands here.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad() from None
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in POSTGRES_SCHEMES or not name:
        raise _bad()
    given = dict(parse_qsl(parts.query))
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "albedo",
        **TCP,
        **given,
        "options": f"{_server_limits(statement_seconds)} {given.get('options', '')}".strip(),
        "pool": _pool(pool_max, busy_seconds, statement_seconds),
    }
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


def _server_limits(statement_seconds: float) -> str:
    """What the server itself ends: long statements, waits for locks, transactions that were left open."""
    milliseconds = round(statement_seconds * 1000)
    limits = {
        "statement_timeout": milliseconds,
        "lock_timeout": round(milliseconds * 3 / 4),
        "idle_in_transaction_session_timeout": 3 * milliseconds,
    }
    return " ".join(f"-c {name}={value}" for name, value in limits.items())


def _pool(pool_max: int, busy_seconds: float, statement_seconds: float) -> dict[str, Any]:
    return {
        "min_size": 0,
        "max_size": pool_max,
        "timeout": min(POOL_SECONDS, busy_seconds),
        # Given up soon: a pool's own pauses grow, and a server that is back would not be noticed for minutes.
        "reconnect_timeout": 1.0,
        "connection_class": bounded_connection(statement_seconds + ANSWER_SECONDS),
    }


def _bad() -> ImproperlyConfigured:
    return ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:port/name.")
