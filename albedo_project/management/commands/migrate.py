"""`manage.py migrate`, with all the time that it takes: elsewhere statements are bounded."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections

from albedo_project.bounded_postgresql import unhurried


class Command(migrate.Command):
    """Django's own."""

    def handle(self, *args: Any, **options: Any) -> None:
        with unhurried(connections[options.get("database") or DEFAULT_DB_ALIAS]):
            super().handle(*args, **options)
