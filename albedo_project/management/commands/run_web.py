"""`manage.py run_web`: a web process without actors, one of any number on PostgreSQL and Redis."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from albedo_project import readiness
from albedo_project.asgi import application
from albedo_project.management.arguments import port
from albedo_project.management.saying import say
from albedo_project.opening import require_shared
from albedo_project.serving.limits import server_limits
from albedo_project.web import listen, run_web
from streaming.kernel.hardening import forbid_inspection


class Command(BaseCommand):
    help = "Serve pages, API and streams behind a proxy until SIGTERM. Needs DATABASE_URL and REDIS_URL."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", default=8000, type=port, help="0 picks a free one")

    def handle(self, *args: Any, **options: Any) -> None:
        require_shared()
        forbid_inspection()
        limits, host = server_limits(), str(options["host"])
        try:
            listener = listen(host, options["port"])
        except OSError as error:
            raise CommandError(f"Cannot listen on {host}: {error}") from error

        def started(number: int) -> None:
            say(self.stdout, f"Web process is ready on port {number}.")
            readiness.tell(readiness.READY)

        run_web(application, listener, limits, trust_proxy=settings.TRUST_PROXY, on_started=started)
