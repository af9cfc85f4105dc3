"""The launcher: `python -m scripts.distributed --port N --data-dir DIR --webs N --hosts N`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from albedo_project.instance import Instance
from albedo_project.keys import private_directory
from albedo_project.logs import OneLineFormatter
from scripts.distributed import plan
from scripts.distributed.process import StartFailed
from scripts.distributed.whole import Whole
from streaming.kernel.hardening import forbid_inspection


def main() -> int:
    wanted = plan.current()
    _log_to_stderr()
    # Its environment holds what kernels, the same user's, are not to see.
    forbid_inspection()
    os.umask(0o077)
    try:
        private_directory(wanted.data_dir)
        instance = Instance(wanted.data_dir)
        return asyncio.run(_run(wanted, instance))
    except (CommandError, ImproperlyConfigured, StartFailed) as error:
        sys.stderr.write(f"{error}\n")
        return 1


async def _run(wanted: plan.Plan, instance: Instance) -> int:
    whole, told = Whole(wanted), asyncio.Event()

    def signalled() -> None:
        if told.is_set():
            whole.kill()
            os._exit(1)
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signalled)
    working, ending = asyncio.create_task(_start(wanted, whole, instance)), asyncio.create_task(told.wait())
    try:
        await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            # Raises where the start failed.
            working.result()
        await ending
    finally:
        for task in (working, ending):
            task.cancel()
        await asyncio.gather(working, ending, return_exceptions=True)
        await whole.drain()
        instance.withdraw()
    return 0


async def _start(wanted: plan.Plan, whole: Whole, instance: Instance) -> None:
    url, link = await whole.start()
    instance.announce(url, _operator_token(wanted.data_dir))
    sys.stdout.write(f"Albedo is ready. Open {link}\n")
    sys.stdout.flush()


def _operator_token(data_dir: Path) -> str:
    return (data_dir / "secrets" / "operator_token").read_text("ascii").strip()


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(OneLineFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("httpcore").setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
