"""What a child says goes to a file of its own, for the owner alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

TAIL_LINES = 20


class Log:
    """Appended to, across restarts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> IO[bytes]:
        return open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")

    def tail(self) -> str:
        """Its last lines, for a message about a start that failed."""
        try:
            text = self._path.read_text("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-TAIL_LINES:])
