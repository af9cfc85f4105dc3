"""A disk that fails: `strace` lets the system calls of a running process fail for certain files."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.processes import end, wait_for

SYNCS, WRITES = "fsync,fdatasync", "pwrite64,write"


@contextmanager
def failing(pid: int, files: Sequence[Path], calls: str, error: str, record: Path) -> Iterator[None]:
    """While the block runs, `calls` on `files` end with `error`. Skipped where nobody may trace the process.

    What was written into `record` tells which calls those were.
    """
    program = shutil.which("strace")
    if program is None:
        pytest.skip("strace is not installed")
    paths = [option for file in files for option in ("-P", str(file))]
    inject = ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}"]
    command = [program, "-f", "-o", str(record), *inject, *paths, "-p", str(pid)]
    with record.with_suffix(".err").open("wb") as errors:
        tracer = subprocess.Popen(command, stderr=errors)
    said = record.with_suffix(".err")
    try:
        wait_for(lambda: "attached" in said.read_text() or tracer.poll() is not None, "strace")
        if tracer.poll() is not None:
            pytest.skip(f"no process may be traced here: {said.read_text().strip()[-200:]}")
        yield
    finally:
        # It lets go of the process, which goes on.
        end(tracer, signal.SIGINT)
