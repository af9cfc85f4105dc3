"""`manage.py chat`: talk to a session in the terminal, or send one input and print its answer."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from sessions_app.terminal.client import Client, Refused, Unreachable
from sessions_app.terminal.screen import Screen
from sessions_app.terminal.turn import Left, Turn, catch_up, take_turn
from sessions_app.terminal.view import View
from sessions_app.terminal.where import NoServer, Server, find_server

EXIT_CODES = {"completed": 0, "failed": 3, "interrupted": 4, "abandoned": 5, "cancelled": 6}
UNREACHABLE = 7
LEFT = 130


class Command(BaseCommand):
    help = (
        "Talk to a session. With --once: 0 completed, 3 failed, 4 interrupted, 5 abandoned, 6 cancelled, "
        "7 server out of reach."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("session", nargs="?", help="its id; without one, a new session is made")
        parser.add_argument(
            "--once", metavar="TEXT", help="send one input, print the answer, exit by its outcome"
        )
        parser.add_argument("--name", default="", help="name of a new session")
        parser.add_argument(
            "--url", default="", help="server (default: the one announced in the data folder)"
        )
        parser.add_argument("--token", default="", help="API token (default: the announced one)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            server = find_server(settings.DATA_DIR, options["url"], options["token"])
            session_id = asyncio.run(_open(server, options["session"], options["name"]))
            if options["once"] is None:
                self._talk(server, session_id)
                return
            code = self._once(server, session_id, options["once"])
        except (NoServer, Refused) as error:
            raise CommandError(str(error)) from None
        except Unreachable as error:
            raise CommandError(str(error), returncode=UNREACHABLE) from None
        except (Left, KeyboardInterrupt):
            code = LEFT
        sys.exit(code)

    def _once(self, server: Server, session_id: str, text: str) -> int:
        screen = Screen(Console(stderr=True), quiet=not sys.stderr.isatty())
        turn = asyncio.run(_turn(server, session_id, View(), screen, text))
        # What was said may hold anything; this is data for a pipe, so it is not made visible.
        self.stdout.write("\n\n".join(turn.said))
        if turn.error:
            self.stderr.write(turn.error)
        return EXIT_CODES[turn.outcome]

    def _talk(self, server: Server, session_id: str) -> None:
        console = Console()
        console.print(
            f"Session {session_id}. Ctrl-C stops a run, Ctrl-D leaves.", style="dim", highlight=False
        )
        view = View()
        asyncio.run(_catch_up(server, session_id, view, Screen(console, quiet=False)))
        while True:
            try:
                text = console.input("[bold cyan]›[/] ")
            except (EOFError, KeyboardInterrupt):
                console.print()
                return
            if not text.strip():
                continue
            turn = asyncio.run(_turn(server, session_id, view, Screen(console, quiet=False), text))
            if turn.outcome != "completed":
                console.print(f"{turn.outcome}. {turn.error}", style="yellow", markup=False)


async def _open(server: Server, session_id: str | None, name: str) -> str:
    async with Client(server) as client:
        if session_id is None:
            return await client.make_session(name)
        await client.check_session(session_id)
        return session_id


async def _catch_up(server: Server, session_id: str, view: View, screen: Screen) -> None:
    async with Client(server) as client:
        await catch_up(client, session_id, view, screen)


async def _turn(server: Server, session_id: str, view: View, screen: Screen, text: str) -> Turn:
    async with Client(server) as client:
        return await take_turn(client, session_id, view, screen, text)
