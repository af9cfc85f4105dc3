"""The pool without kernels: where its folder lies, and what it says when it is not running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.pool import KernelPool, _run_root
from streaming.limits import KernelLimits


def test_the_folder_lies_in_the_runtime_folder_where_there_is_one(folder: Path) -> None:
    made = _run_root(str(folder))
    assert made.parent == folder
    assert made.stat().st_mode & 0o777 == 0o700


def test_a_runtime_folder_that_is_not_there_is_passed_over(folder: Path) -> None:
    made = _run_root(str(folder / "none"))
    made.rmdir()
    assert made.parent == Path("/tmp")


async def test_a_pool_that_does_not_run_has_no_kernel(folder: Path) -> None:
    pool = KernelPool(KernelLimits(prewarmed=0), os.environ)
    with pytest.raises(KernelStartFailed):
        await pool.acquire(folder)
    await pool.start()
    root = pool.root
    await pool.aclose()
    await pool.aclose()
    assert (pool.guardian_pid, pool.root, pool.ready) == (None, None, 0)
    assert root is not None
    assert not root.exists()
    with pytest.raises(KernelStartFailed):
        await pool.acquire(folder)
