"""What the launcher refuses at once, in a line, leaving nothing behind."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest

from tests.support.commands import run_python
from tests.support.distributed import needs_nginx
from tests.support.processes import free_port


def refused(tmp_path: Path, *arguments: str, **environment: str) -> str:
    """What it says; its folder holds no sign of a server then."""
    data = tmp_path / "data"
    told = run_python("-m", "scripts.distributed", "--data-dir", str(data), *arguments, **environment)
    assert (told.returncode, told.stdout) == (1, ""), told.stderr
    assert not (data / "server.json").exists()
    assert not (data / "processes.json").exists()
    return told.stderr


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("DATABASE_URL", "postgresql://albedo:canary@127.0.0.1:{}/a"),
        ("REDIS_URL", "redis://:canary@127.0.0.1:{}/0"),
    ],
)
def test_a_server_that_is_named_and_does_not_answer(name: str, url: str, tmp_path: Path) -> None:
    needs_nginx()
    said = refused(tmp_path, "--port", "0", **{name: url.format(free_port())})
    assert f"of {name} does not answer." in said
    assert "canary" not in said


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    needs_nginx()
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert f"Cannot listen on 127.0.0.1:{port}" in refused(tmp_path, "--port", str(port))
