"""The server's handle on the guardian: starts it, tells it of runs, and starts it again if it is gone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

GUARDIAN = Path(__file__).with_name("guardian.py")
CLOSE_SECONDS = 5.0
RESTART_SECONDS = 0.5


class Guard:
    """One guardian process. Its pipe is never waited for: a guardian that does not read is replaced."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._runs: dict[str, dict[str, Any]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._handle = -1
        self._gone = asyncio.Event()
        self._closing = False
        self._restart: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start it and tell it all that is known. Must be called on the loop."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARDIAN)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={},
            bufsize=0,
        )
        self._gone.clear()
        self._handle = os.pidfd_open(self._process.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._on_exit)
        self._tell({"root": str(self._root)})
        for run in self._runs.values():
            self._tell(run)
        # From here on a full pipe means a guardian that stands still.
        os.set_blocking(self._pipe().fileno(), False)

    def add(self, token: str, group: int | None, folder: Path) -> None:
        """A run from now on: its process group where that is known, its folder, and all with its mark."""
        self._runs[token] = {"add": token, "group": group, "folder": str(folder)}
        self._tell(self._runs[token])

    def end(self, token: str) -> None:
        """The run is over: what it left behind is to be killed and removed."""
        if self._runs.pop(token, None) is not None:
            self._tell({"end": token})

    async def close(self) -> None:
        """End of file: the guardian clears what is left and goes."""
        self._closing = True
        if self._restart is not None:
            self._restart.cancel()
        if self._process is None:
            return
        self._pipe().close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._gone.wait()
        except TimeoutError:
            self._process.kill()
            await self._gone.wait()

    def _on_exit(self) -> None:
        assert self._process is not None
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._pipe().close()
        self._process.wait()
        self._process = None
        self._gone.set()
        if not self._closing:
            self._restart = asyncio.get_running_loop().call_later(RESTART_SECONDS, self.start)

    def _tell(self, order: dict[str, Any]) -> None:
        if self._process is None or self._closing:
            return
        try:
            os.write(self._pipe().fileno(), json.dumps(order).encode() + b"\n")
        except OSError:
            # It is started anew, and told everything, when its end is seen.
            self._process.kill()

    def _pipe(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin
