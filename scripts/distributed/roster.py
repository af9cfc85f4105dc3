"""The data folder's processes.json: which processes there are now, for its owner alone."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from scripts.distributed.keeper import Keeper
from scripts.distributed.process import StartFailed

log = logging.getLogger("albedo.distributed")

# Of these there are several.
LISTS = ("web", "actors")
SINGLE = ("nginx", "redis", "postgres")


class Roster:
    """{"web": [pid, ...], "actors": [...], "nginx": pid or null, ...}; who is down is left out, or null."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / "processes.json"
        self._keepers: dict[str, list[Keeper]] = {kind: [] for kind in (*LISTS, *SINGLE)}

    @contextlib.contextmanager
    def added(self, kind: str, keeper: Keeper) -> Iterator[None]:
        """While it starts, and from then on; not where that fails."""
        self._keepers[kind].append(keeper)
        try:
            yield
        except StartFailed:
            self._keepers[kind].remove(keeper)
            raise

    def of(self, *kinds: str) -> list[Keeper]:
        return [keeper for kind in kinds for keeper in self._keepers[kind]]

    def __iter__(self) -> Iterator[Keeper]:
        return iter(self.of(*self._keepers))

    def write(self) -> None:
        """Whole or not at all. A full disk is told of, and keeps nothing from being started."""
        try:
            self._write()
        except OSError as error:
            log.warning("%s cannot be written: %s", self._file.name, error.strerror)

    def _write(self) -> None:
        pids = {kind: [k.pid for k in keepers if k.pid] for kind, keepers in self._keepers.items()}
        shown = {kind: found if kind in LISTS else next(iter(found), None) for kind, found in pids.items()}
        draft = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        with open(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            json.dump(shown, file)
        os.replace(draft, self._file)

    def remove(self) -> None:
        self._file.unlink(missing_ok=True)
