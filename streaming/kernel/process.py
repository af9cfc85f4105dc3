"""One kernel process: started isolated, watched by pidfd, killed with its whole group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

BOOT = Path(__file__).parent / "inside" / "boot.py"


class KernelProcess:
    """A running kernel. `died` is set once, from the loop, when the system says that it has ended.

    `killed` says whether it was told to.

    Start it from the thread that lives as long as the server: the kernel dies with that thread.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.died = asyncio.Event()
        self.killed = False
        self._process = process
        self._loop = asyncio.get_running_loop()
        self.watchers: set[Callable[[], None]] = set()
        """Called once each, on the loop, when it has died."""
        self._handle = os.pidfd_open(process.pid)
        self._loop.add_reader(self._handle, self._on_exit)

    @classmethod
    def start(
        cls, python: str, connection_file: Path, environment: Mapping[str, str], message_bytes: int
    ) -> KernelProcess:
        return cls(
            subprocess.Popen(
                [python, "-I", str(BOOT), str(connection_file), str(os.getpid()), str(message_bytes)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                # Nothing that a workspace holds is looked at while the interpreter starts.
                cwd=connection_file.parent,
                env=dict(environment),
            )
        )

    @property
    def alive(self) -> bool:
        return not self.died.is_set()

    def interrupt(self) -> None:
        """SIGINT to the kernel and what it runs in the foreground, as a terminal does."""
        self._signal_group(signal.SIGINT)

    def kill(self) -> None:
        self.killed = True
        self._signal_group(signal.SIGKILL)

    async def ended(self) -> None:
        await self.died.wait()

    def _signal_group(self, number: signal.Signals) -> None:
        # Before it is reaped its number, and so the group's, cannot be another's.
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        # What it started in its own group goes with it, while the group's number is still ours.
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        self.died.set()
        for callback in tuple(self.watchers):
            callback()
