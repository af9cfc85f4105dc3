"""Small programs to be kept running."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from scripts.distributed.process import Program

READY = """
import os, socket
def ready():
    name = os.environ["NOTIFY_SOCKET"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"STATUS=up\\nREADY=1", "\\0" + name[1:])
"""
SERVING = READY + "import time\nready()\nprint('up', flush=True)\ntime.sleep(1000)"
DEAF = READY + "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nready()\ntime.sleep(1000)"
BROKEN = "raise SystemExit('no such luck')"
# Both halves of the group must go, as nginx and its workers.
WITH_WORKER = READY + (
    "import subprocess, sys, time\n"
    "worker = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
    "print('worker', worker.pid, flush=True)\nready()\ntime.sleep(1000)"
)


def program(code: str, folder: Path, name: str = "tried") -> Program:
    environment = {"PATH": os.environ["PATH"]}
    return Program(name, (sys.executable, "-c", code), folder, environment)
