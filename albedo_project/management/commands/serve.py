"""`manage.py serve`: the whole embedded system in one process."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, connections

from albedo_project import readiness
from albedo_project.asgi import application
from albedo_project.instance import Instance
from albedo_project.management.arguments import port
from albedo_project.management.saying import say
from albedo_project.opening import close_database, open_database, trouble_told
from albedo_project.operator import ensure_operator
from albedo_project.server import run_server
from albedo_project.serving.limits import server_limits
from sessions_app.console.login_links import make_login_link
from sessions_app.instance import draining
from sessions_app.store import executor
from streaming.delivery import process as delivery
from streaming.kernel.hardening import forbid_inspection
from streaming.runtime import Runtime


class Command(BaseCommand):
    help = "Migrate, make the operator account at the first start, and serve web, actors and the demo model."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", default=8000, type=port, help="0 picks a free one")
        parser.add_argument("--data-dir", help="database, workspaces and secrets (default: DATA_DIR)")

    def handle(self, *args: Any, **options: Any) -> None:
        # Kernels run as the same user: what they could read of this process, a model could.
        forbid_inspection()
        instance = Instance(settings.DATA_DIR)
        open_database()
        with trouble_told():
            operator, token = ensure_operator(settings.SECRETS_DIR)
        # One process has a SQLite file; a PostgreSQL database may have other hosts with leases of their own.
        alone = connection.vendor == "sqlite"
        connections.close_all()
        host: str = options["host"]
        runtime: list[Runtime] = []

        async def started(number: int) -> None:
            runtime.append(Runtime())
            await runtime[0].start(alone=alone)
            url = base_url(host, number)
            with trouble_told():
                instance.announce(url, token)
                link = await executor.read(make_login_link, operator, url)
            say(self.stdout, f"Albedo is ready. Open {link}")
            readiness.tell(readiness.READY)

        async def drain() -> None:
            draining.begin()
            if runtime:
                await runtime[0].drain()

        try:
            run_server(
                application,
                host,
                options["port"],
                on_started=started,
                on_drain=drain,
                on_shutdown=delivery.close,
                limits=server_limits(),
            )
        except OSError as error:
            raise CommandError(f"Cannot listen on {host}: {error}") from error
        finally:
            instance.withdraw()
            executor.close()
            close_database()


def base_url(host: str, number: int) -> str:
    """Where a browser on this machine finds a server that listens on `host`."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{reachable}:{number}"
