"""Telling whoever started the process that it is ready."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from albedo_project import readiness


@contextlib.contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        listener.bind(address)
        listener.setblocking(False)
        yield listener


def test_a_path_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "NOTIFY_SOCKET", str(tmp_path / "notify"))
    with listening(str(tmp_path / "notify")) as listener:
        readiness.tell(readiness.READY)
        assert listener.recv(100) == b"READY=1"


def test_an_abstract_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"albedo-test-{tmp_path}"[:100]
    monkeypatch.setattr(settings, "NOTIFY_SOCKET", f"@{name}")
    with listening(f"\0{name}") as listener:
        readiness.tell(readiness.READY)
        assert listener.recv(100) == b"READY=1"


@pytest.mark.parametrize(("address", "told"), [("", 0), ("@nobody-listens-here", 1), ("/no/such/socket", 1)])
def test_where_nobody_listens_the_start_goes_on(
    address: str, told: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings, "NOTIFY_SOCKET", address)
    readiness.tell(readiness.READY)
    assert len(caplog.messages) == told
