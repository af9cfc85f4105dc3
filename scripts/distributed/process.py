"""One child process: it dies with the launcher, and its end is known at once."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
# Looked up before any fork: loading a library in a child may lock up.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class StartFailed(Exception):
    """A program could not be started, or ended before it was ready; the message says what is known."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is started. Its folder is its working folder; `user` only where the launcher is root."""

    name: str
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: pwd.struct_passwd | None = None
    keep_open: tuple[int, ...] = ()
    # To drain it, and what it gets when the launcher is gone.
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL


class Process:
    """A running program, in a session of its own. Made in the thread that lives as long as the launcher."""

    def __init__(self, program: Program, output: IO[bytes], environment: Mapping[str, str]) -> None:
        user = program.user
        try:
            self._popen = subprocess.Popen(
                program.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                # Entered before the user changes, so that the folders above it may be closed to that one.
                cwd=program.folder,
                start_new_session=True,
                user=user.pw_uid if user else None,
                group=user.pw_gid if user else None,
                extra_groups=[] if user else None,
                pass_fds=program.keep_open,
                # Behind the change of user, which would take it away again.
                preexec_fn=_bound_to_parent(program.death_signal),
            )
        except OSError as error:
            raise StartFailed(f"{program.name}: {program.command[0]}: {error.strerror}") from error
        self.pid = self._popen.pid
        self.ended = asyncio.Event()
        self._handle = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._on_exit)

    @property
    def returncode(self) -> int | None:
        """Negative for a signal; None while it runs."""
        return self._popen.returncode

    def signal(self, number: signal.Signals) -> None:
        if not self.ended.is_set():
            self._popen.send_signal(number)

    def kill(self) -> None:
        if not self.ended.is_set():
            self._kill_group()

    def _kill_group(self) -> None:
        # Until it is reaped its number, and so the group's, cannot be another's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        # Workers of a killed nginx would hold its port for ever.
        self._kill_group()
        self._popen.wait()
        self.ended.set()


def _bound_to_parent(death_signal: signal.Signals) -> Callable[[], None]:
    parent = os.getpid()

    def bind() -> None:
        _prctl(PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != parent:
            os._exit(1)

    return bind
