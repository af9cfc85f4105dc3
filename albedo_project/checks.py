"""System checks of our own: what works on one machine or with few clients, and would not last."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.db import connection

SERVERS = "servers"
PLAIN_DAPHNE = checks.Warning(
    "daphne serves by itself: its sends never wait, so that one client that does not read takes memory "
    "without end.",
    hint="Serve with `manage.py serve` or `manage.py run_web`, or with uvicorn, hypercorn or granian.",
    id="albedo.W001",
)
OWN_KEYS = checks.Warning(
    "SECRET_KEY or ENCRYPTION_KEY is made in DATA_DIR: a process with another DATA_DIR would have another "
    "one, refuse this one's cookies and not read its provider keys.",
    hint="Set both, for every process the same: `python -m albedo_project.new_keys` makes them.",
    id="albedo.W002",
)
UNSHARED_LAYER = checks.Warning(
    "The database may be shared, and what is live is not: a second process would answer inputs, but have no "
    "stream of a session that runs in this one.",
    hint="Set REDIS_URL, for every process the same, or run one process alone.",
    id="albedo.W003",
)

log = logging.getLogger(__name__)


def register() -> None:
    checks.register(check_server, SERVERS)
    checks.register(check_keys, checks.Tags.security, deploy=True)
    checks.register(check_layer, SERVERS, deploy=True)


def check_server(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Whether a plain daphne serves: its command has loaded us, or its `runserver` is installed."""
    plain = "daphne.cli" in sys.modules or apps.is_installed("daphne")
    return [PLAIN_DAPHNE] if plain else []


def check_keys(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Whether processes on several machines, which a shared database allows, would share their keys."""
    several = connection.vendor != "sqlite"
    return [OWN_KEYS] if several and not settings.KEYS_GIVEN else []


def check_layer(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Whether processes that share the database would share a layer."""
    several = connection.vendor != "sqlite"
    return [UNSHARED_LAYER] if several and not settings.REDIS_URL else []


def warn_of_server() -> None:
    """For where no command runs the checks: whoever loads the application is the server."""
    for message in checks.run_checks(tags=[SERVERS]):
        if not message.is_silenced():
            log.warning("(%s) %s %s", message.id, message.msg, message.hint)
