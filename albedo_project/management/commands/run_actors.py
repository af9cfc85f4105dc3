"""`manage.py run_actors`: an actor host without a web server, one of any number on PostgreSQL and Redis."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from albedo_project import readiness
from albedo_project.files import raise_file_limit
from albedo_project.management.saying import say
from albedo_project.metrics.endpoint import served
from albedo_project.opening import require_shared
from albedo_project.web import listen
from sessions_app.instance import draining
from sessions_app.store import executor
from streaming.delivery import process as delivery
from streaming.kernel.hardening import forbid_inspection
from streaming.runtime import Runtime


class Command(BaseCommand):
    help = "Run session actors until SIGTERM, which drains them. Needs DATABASE_URL and REDIS_URL."

    def handle(self, *args: Any, **options: Any) -> None:
        require_shared()
        forbid_inspection()
        raise_file_limit()
        listener = metrics_listener()
        try:
            asyncio.run(self._serve(listener))
        finally:
            executor.close()

    async def _serve(self, listener: socket.socket | None) -> None:
        told = asyncio.Event()

        def signalled() -> None:
            if told.is_set():
                os._exit(1)
            told.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, signalled)
        runtime = Runtime()
        async with served(listener):
            await runtime.start(alone=False)
            say(self.stdout, f"Actor host {runtime.name} is ready.")
            readiness.tell(readiness.READY)
            await told.wait()
            draining.begin()
            await runtime.drain()
        await delivery.close()


def metrics_listener() -> socket.socket | None:
    """Where this process answers /metrics, if it was given a port."""
    host, port = settings.METRICS_HOST, settings.METRICS_PORT
    try:
        return listen(host, port) if port else None
    except OSError as error:
        raise CommandError(f"Cannot listen on {host}: {error}") from error
