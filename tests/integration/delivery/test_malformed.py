"""Bytes that are no request, or none that can be passed on: each is answered with a problem, then closed."""

from __future__ import annotations

import json
import re
import socket

import pytest

from tests.integration.delivery.conftest import Served

FAR_TOO_LONG = b"9" * 5_000


def answered(served: Served, sent: bytes) -> tuple[int, str]:
    """The status and the problem's code of the only answer that comes back until the connection ends."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=40) as raw:
        raw.sendall(sent)
        received = b"".join(iter(lambda: raw.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head.lower(), received
    found = re.search(rb"\{.*\}", body)
    assert found is not None, received
    problem = json.loads(found.group())
    assert received.count(b"HTTP/1.1 ") == 1, received
    assert int(head.split()[1]) == problem["status"]
    return problem["status"], problem["code"]


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        (b"GET", b"", 400),
        (b"GET /api/health HTTP/9.9", b"", 400),
        (b"GET /api/health?a=\xff HTTP/1.1", b"", 400),
        (b"GET /api/health HTTP/1.1", b"no colon\r\n", 400),
        (b"GET /api/health HTTP/1.1", b"X-A: a\x00b\r\n", 400),
        (b"GET /api/health HTTP/1.1", b"X-A: a\x0bb\r\n", 400),
        (b"GET /api/health HTTP/1.1", b"X-A: a\r\n" * 600, 400),
        (b"GET /api/health HTTP/1.1", b"X-A: " + b"a" * 20_000 + b"\r\n", 431),
        (b"GET /api/health?" + b"a" * 20_000 + b" HTTP/1.1", b"", 431),
        (b"POST /api/sessions HTTP/1.1", b"Content-Length: -1\r\n", 400),
        (b"POST /api/sessions HTTP/1.1", b"Content-Length: " + FAR_TOO_LONG + b"\r\n", 400),
        (b"POST /api/sessions HTTP/1.1", b"Transfer-Encoding: gzip\r\n", 400),
        (b"POST /api/sessions HTTP/1.1", b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ],
)
def test_what_is_no_request_is_answered_with_a_problem_and_runs_no_further(
    served: Served, line: bytes, headers: bytes, status: int
) -> None:
    # A well-formed request behind it, in the same bytes, must not be served.
    sent = line + b"\r\nHost: 127.0.0.1\r\n" + headers + b"Connection: close\r\n\r\n"
    behind = b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    found, code = answered(served, sent + behind)
    assert (found, code) == (status, "too_large" if status == 431 else "invalid_request")


def test_a_form_that_cannot_be_taken_apart_is_left_to_the_application(served: Served) -> None:
    kind = b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n"
    head = b"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    assert answered(served, head + kind + b"\r\nab") == (401, "not_authenticated")
