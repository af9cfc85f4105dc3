"""A real server and the real application with actors that tests direct: run as a process of its own.

python -m tests.integration.delivery.served FACTS_FILE LIMITS_JSON [serve|web] [HOST]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "albedo_project.settings")
django.setup()

from channels.layers import channel_layers  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402

from albedo_project.server import run_server  # noqa: E402
from albedo_project.serving.limits import ServerLimits  # noqa: E402
from albedo_project.web import listen, run_web  # noqa: E402
from streaming.delivery import process, rechecks  # noqa: E402
from streaming.delivery.memory_layer import MemoryChannelLayer  # noqa: E402
from tests.integration.delivery.stage import Controlled, Stage  # noqa: E402


def main(facts_file: Path, limits: dict[str, Any], kind: str = "serve", host: str = "127.0.0.1") -> None:
    # How soon is the product's affair; that it happens is what is tried here.
    rechecks.EVERY_SECONDS = float(os.environ.get("SERVED_RECHECK_SECONDS", "0.5"))
    channel_layers.set("default", MemoryChannelLayer())
    channel_layers.set("broadcast", MemoryChannelLayer())
    call_command("migrate", verbosity=0)
    stage = Stage()
    stage.people()
    connections.close_all()
    tasks: list[asyncio.Task[None]] = []

    def listening(port: int) -> None:
        tasks.append(asyncio.ensure_future(stage.host()))
        stage.facts["port"] = port
        draft = facts_file.with_suffix(".draft")
        draft.write_text(json.dumps(stage.facts), "utf-8")
        draft.rename(facts_file)

    async def on_started(port: int) -> None:
        listening(port)

    async def on_shutdown() -> None:
        await process.close()
        for task in tasks:
            task.cancel()

    application, bounds = Controlled(stage), ServerLimits(**limits)
    if kind == "web":
        run_web(application, listen(host, 0), bounds, trust_proxy=False, on_started=listening)
    else:
        run_server(application, host, 0, on_started=on_started, on_shutdown=on_shutdown, limits=bounds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), *sys.argv[3:])
