"""A process that forbids inspection says so to the system."""

from __future__ import annotations

import subprocess
import sys

PR_GET_DUMPABLE = 3
CODE = (
    "import ctypes\n"
    "from streaming.kernel.hardening import forbid_inspection\n"
    f"get = lambda: ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}, 0, 0, 0, 0)\n"
    "print(get(), forbid_inspection(), get())"
)


def test_the_system_takes_it() -> None:
    shown = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["1", "True", "0"]
