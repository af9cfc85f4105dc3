"""`manage.py prune`: remove old sessions, by age or until all fits a size. Servers may run beside it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

from sessions_app.ids import parse_id
from sessions_app.pruning import Done, Pruner, Wanted, give_way
from sessions_app.quantities import parse_age, parse_size, show_size
from sessions_app.store import retention_sizes, vacuum

T = TypeVar("T")


class Command(BaseCommand):
    help = (
        "Remove sessions that nobody uses, with their history, diagnostics, artifacts and their workspaces "
        "under DATA_DIR/workspaces; other folders stay. A session with work, an actor or a watcher stays."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        age, size = _as(parse_age), _as(parse_size)
        parser.add_argument("--older-than", type=age, metavar="AGE", help="last used so long ago, as 90d")
        parser.add_argument(
            "--max-size", type=size, metavar="SIZE", help="then the oldest until all fits, as 20GB"
        )
        parser.add_argument(
            "--spare",
            type=age,
            default=timedelta(days=1),
            metavar="AGE",
            help="--max-size takes nothing used since (default: 1d)",
        )
        parser.add_argument("--archived", action="store_true", help="only archived sessions")
        parser.add_argument("--keep-named", action="store_true", help="only sessions without a name")
        parser.add_argument(
            "--keep", type=_id, action="append", default=[], metavar="ID", help="never this one"
        )
        parser.add_argument(
            "--attempts-older-than", type=age, metavar="AGE", help="diagnostics of attempts alone, as 30d"
        )
        parser.add_argument(
            "--vacuum", action="store_true", help="rebuild SQLite's file; nobody can write meanwhile"
        )
        parser.add_argument("--dry-run", action="store_true", help="only tell what would be removed")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = ("older_than", "max_size", "attempts_older_than", "vacuum")
        if not any(options[name] is not None and options[name] is not False for name in asked):
            raise CommandError("Say what: --older-than, --max-size, --attempts-older-than or --vacuum.")
        try:
            self._prune(options)
        except DatabaseError as error:
            raise CommandError(
                f"The database did not go along, the rest stays for the next time: {error}"
            ) from error

    def _prune(self, options: dict[str, Any]) -> None:
        dry_run: bool = options["dry_run"]
        pruner = Pruner(_wanted(options), dry_run=dry_run, say=self._say)
        try:
            pruner.prune()
            if options["attempts_older_than"] is not None:
                pruner.prune_attempts(timezone.now() - options["attempts_older_than"])
        finally:
            self.stdout.write(summary(pruner.done, dry_run=dry_run))
        if not dry_run and connection.vendor == "sqlite":
            self._give_back(rebuild=options["vacuum"])

    def _give_back(self, *, rebuild: bool) -> None:
        before = retention_sizes.free_file_bytes()
        if rebuild:
            vacuum.rebuild()
        elif vacuum.gives_back():
            vacuum.give_back(give_way)
        left = retention_sizes.free_file_bytes()
        if before > left:
            self.stdout.write(f"Gave {show_size(before - left)} back to the file system.")
        if left and not vacuum.gives_back():
            self.stdout.write(
                f"{show_size(left)} in the database's file are free for new content; "
                "--vacuum gives them back, while nobody can write."
            )

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def summary(done: Done, *, dry_run: bool) -> str:
    """One line for whoever reads a timer's log."""
    verb = "Would remove" if dry_run else "Removed"
    parts = [
        f"{verb} {done.sessions} sessions and {done.attempts} records of attempts",
        f"{show_size(done.database_bytes)} in the database",
        f"{show_size(done.workspace_bytes)} of workspaces",
    ]
    passed = f" Passed over {done.busy} with work." if done.busy else ""
    return f"{parts[0]}: {parts[1]}, {parts[2]}.{passed}"


def _wanted(options: dict[str, Any]) -> Wanted:
    now = timezone.now()
    older_than: timedelta | None = options["older_than"]
    return Wanted(
        spared_since=now - options["spare"],
        before=None if older_than is None else now - older_than,
        most_bytes=options["max_size"],
        archived_only=options["archived"],
        keep_named=options["keep_named"],
        keep=frozenset(options["keep"]),
    )


def _as(parse: Callable[[str], T]) -> Callable[[str], T]:
    """`parse` for a command's option: its own words are what the user reads."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return parsed


def _id(text: str) -> UUID:
    found = parse_id(text)
    if found is None:
        raise ArgumentTypeError("the id of a session is a UUID")
    return found
