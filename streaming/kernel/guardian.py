"""A small process that outlives the server and ends its kernels, with all that they started.

It holds one end of a pipe: lines of JSON say which runs there are, end of file says that the
server is gone. Run by path, standard library only; it must not import anything of this project.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from typing import Any

MARKER = "ALBEDO_KERNEL_RUN"
PASSES = 50
PAUSE_SECONDS = 0.02


def kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill_marked(tokens: Iterable[str]) -> int:
    """Kill each process whose environment names one of the runs, daemons that left its group too."""
    marks = [f"{MARKER}={token}".encode() for token in tokens]
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sum(_kill_if_marked(pid, marks) for pid in pids if pid != os.getpid())


def _kill_if_marked(pid: int, marks: list[bytes]) -> bool:
    try:
        # Opened before the look, so that a reused number can never be hit.
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            names = file.read().split(b"\0")
        if not any(mark in names for mark in marks):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def end_runs(runs: dict[str, dict[str, Any]]) -> None:
    """Kill until nothing is found any more, then remove what was on disk."""
    for _ in range(PASSES):
        if not kill_marked(runs):
            break
        time.sleep(PAUSE_SECONDS)
    for run in runs.values():
        shutil.rmtree(run["folder"], ignore_errors=True)


def obey(line: bytes, runs: dict[str, dict[str, Any]], roots: set[str]) -> None:
    order = json.loads(line)
    if "root" in order:
        roots.add(order["root"])
    elif "add" in order:
        runs[order["add"]] = {"group": order["group"], "folder": order["folder"]}
    elif order["end"] in runs:
        # The server has killed the group. Its number is free by now and may be another's.
        end_runs({order["end"]: runs.pop(order["end"])})


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    runs: dict[str, dict[str, Any]] = {}
    roots: set[str] = set()
    for line in sys.stdin.buffer:
        obey(line, runs, roots)
    for run in runs.values():
        if run["group"] is not None:
            kill_group(run["group"])
    end_runs(runs)
    for root in roots:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
