"""Child processes of tests: they die with the test process, and their facts are awaited with a deadline."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
# Below those that the system gives to connections: else one of them may sit on a port between its choice and
# its server's start, or while a server is stopped for a moment.
PORTS = range(15_000, 30_000)
_reserved: list[socket.socket] = []
# Looked up before any fork: loading a library in the child of a threaded process may lock up.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class DeadlinePassed(AssertionError):
    """A fact that a test waited for did not come."""


def wait_for(fact: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Return as soon as `fact()` holds; fail with `what` where it never does."""
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            raise DeadlinePassed(f"{what}: not within {seconds:g} s")
        time.sleep(0.02)


def free_port() -> int:
    """A port for a server that must be told one; no other test process is given it while this one lives."""
    while True:
        port = secrets.choice(PORTS)
        if _reserve(port) and _bindable(port):
            return port


def _reserve(port: int) -> bool:
    lock = claimed(f"port-{port}")
    if lock is None:
        return False
    _reserved.append(lock)
    return True


def claimed(name: str) -> socket.socket | None:
    """A lock among all test processes, until it is closed or its process ends; None where another has it."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        # An abstract socket's name.
        lock.bind(f"\0albedo-tests-{name}")
    except OSError:
        lock.close()
        return None
    return lock


def _bindable(port: int) -> bool:
    with contextlib.closing(socket.socket()) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def spawn(
    command: Sequence[str | Path],
    log: Path,
    environment: Mapping[str, str] | None = None,
    user: pwd.struct_passwd | None = None,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own with its output in `log`.

    It dies with the thread that called, so that a killed test run leaves nothing behind.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(os.environ if environment is None else environment),
            cwd=folder,
            start_new_session=True,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            preexec_fn=_die_with_parent,
        )


def end(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM, seconds: float = 30.0) -> int:
    """Send `how`, wait, and kill what does not go. The return code, negative for a signal."""
    if process.poll() is None:
        process.send_signal(how)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(seconds)


def tail(log: Path, lines: int = 40) -> str:
    if not log.exists():
        return "(no output)"
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])


def _die_with_parent() -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
