"""The tests' MCP server as a session is told of it, and as a process that serves HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes import accepts, end, free_port, spawn, wait_for

PROGRAM = str(Path(__file__).with_name("mcp_server.py"))


def stdio(name: str = "tests", *arguments: str, **env: str) -> dict[str, Any]:
    """Its description over stdio."""
    return {
        "name": name,
        "transport": "stdio",
        "command": sys.executable,
        "args": [PROGRAM, *arguments],
        "env": env,
    }


@contextmanager
def over_http(folder: Path, **env: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Its URL while it runs, and its process."""
    port = free_port()
    process = spawn(
        [sys.executable, PROGRAM, "--port", str(port)],
        folder / "mcp.log",
        {**os.environ, **env},
        folder=folder,
    )
    try:
        wait_for(lambda: accepts(port), "the MCP server listens", 100)
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        end(process)


def noted(notes: Path, pattern: str) -> list[str]:
    """What the first group of the pattern is, in each line that it fits."""
    text = notes.read_text("utf-8") if notes.exists() else ""
    return re.findall(rf"^{pattern}$", text, re.M)


def is_gone(pid: str | int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"
