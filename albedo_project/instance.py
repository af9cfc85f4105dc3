"""What `serve` keeps in its data folder about itself: that it is alone there, and where it can be reached."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO

from django.core.management.base import CommandError

from albedo_project.keys import private_file
from sessions_app.instance import INSTANCE_ID


class Instance:
    """The one server of a data folder. Holding it is holding the folder's lock, which a crash lets go."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / "server.json"
        self.id = INSTANCE_ID
        self._lock: IO[str] = open(private_file(data_dir / "serve.lock"), "w", encoding="ascii")  # noqa: SIM115
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CommandError(f"Another server is running on {data_dir}.") from error

    def announce(self, url: str, token: str) -> None:
        """Write server.json, whole or not at all, for its owner alone."""
        facts = {"url": url, "token": token, "pid": os.getpid(), "instance_id": self.id}
        draft = self._file.with_name(f".server.json.{self.id}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.replace(draft, self._file)

    def withdraw(self) -> None:
        """Nobody is to be sent to a server that is gone."""
        self._file.unlink(missing_ok=True)
        self._lock.close()
