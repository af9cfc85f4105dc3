"""Run folders and connection files: private, and short enough."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.manager import _run_folder, _write_connection_file


def test_the_folder_and_the_file_are_the_owners_alone(folder: Path) -> None:
    made = _run_folder(folder)
    file = _write_connection_file(made, b"key")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    connection = json.loads(file.read_text())
    assert connection["transport"] == "ipc"
    assert connection["ip"] == str(made / "s")


def test_a_file_that_is_there_already_is_not_trusted(folder: Path) -> None:
    (folder / "connection.json").write_text("{}")
    with pytest.raises(FileExistsError):
        _write_connection_file(folder, b"key")


def test_a_path_too_long_for_a_socket_is_refused_and_nothing_is_left(folder: Path) -> None:
    long = folder / ("x" * 100)
    long.mkdir()
    with pytest.raises(KernelStartFailed, match="too long"):
        _run_folder(long)
    assert list(long.iterdir()) == []
