"""A disk of a few megabytes that a test can fill and free: a tmpfs, which only root may mount."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

PIECE_BYTES = 64 * 1024
SMALLEST_BYTES = 512


class SmallDisk:
    """`path` is its folder. `fill` takes every byte that is left, `free` gives them back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as file:
            size = PIECE_BYTES
            while size >= SMALLEST_BYTES:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2

    def free(self) -> None:
        self._ballast.unlink()


@contextmanager
def small_disk(parent: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mounted while the block runs. Skipped where this process may not mount."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    path = Path(tempfile.mkdtemp(prefix="disk-", dir=parent))
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(path)]
    made = subprocess.run(["mount", *options], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"this system mounts nothing here: {made.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        # What still has a file open on it lets go of it in its own time.
        subprocess.run(["umount", "--lazy", str(path)], check=True)


MakeDisk = Callable[..., SmallDisk]


@pytest.fixture
def make_disk(tmp_path: Path) -> Iterator[MakeDisk]:
    """`make_disk(megabytes, parent)`, by default in the test's folder; gone after the test."""
    with ExitStack() as mounted:

        def make(megabytes: int, parent: Path = tmp_path) -> SmallDisk:
            return mounted.enter_context(small_disk(parent, megabytes))

        yield make
