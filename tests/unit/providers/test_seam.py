"""Foreign errors become ours, and nothing of their text is told."""

from __future__ import annotations

import socket
import ssl

import httpcore
import pytest

from streaming.providers.seam import mapped

CASES = [
    (httpcore.LocalProtocolError("canary"), "invalid_header", False),
    (httpcore.UnsupportedProtocol("canary"), "invalid_header", False),
    (httpcore.RemoteProtocolError("canary"), "connection_broken", True),
    (httpcore.ReadError("canary"), "connection_reset", True),
    (httpcore.WriteError("canary"), "connection_reset", True),
    (RuntimeError("canary"), "connection_reset", True),
    (httpcore.ConnectError("canary"), "connection_failed", True),
]


@pytest.mark.parametrize(("error", "code", "retryable"), CASES)
def test_each_error_has_its_code(error: Exception, code: str, retryable: bool) -> None:
    ours = mapped(error)
    assert (ours.code, ours.retryable) == (code, retryable)
    assert "canary" not in repr(ours)


@pytest.mark.parametrize(
    ("cause", "code", "retryable"),
    [
        (ssl.SSLCertVerificationError("canary"), "tls_certificate", False),
        (ssl.SSLError("canary"), "tls_failed", True),
        (socket.gaierror("canary"), "host_unknown", True),
        (ConnectionRefusedError("canary"), "connection_failed", True),
    ],
)
def test_a_failed_connection_tells_why(cause: Exception, code: str, retryable: bool) -> None:
    middle = OSError("x")
    middle.__context__ = cause
    error = httpcore.ConnectError("x")
    error.__cause__ = middle
    ours = mapped(error)
    assert (ours.code, ours.retryable) == (code, retryable)
