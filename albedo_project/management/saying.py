"""What a command says of itself while it serves: nobody's work depends on whether it can be said."""

from __future__ import annotations

from typing import Any


def say(output: Any, line: str) -> None:
    """A line at once. Output may go to a full disk, or to a terminal that is gone."""
    try:
        output.write(line)
        output.flush()
    except OSError:
        pass
