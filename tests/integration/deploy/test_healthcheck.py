"""deploy/healthcheck.py against a web process in the production profile."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.deploy.reading import DEPLOY
from tests.support.processes import free_port


def asked(port: int, **environment: str) -> tuple[int, str]:
    base = {"PATH": os.environ["PATH"], "PORT": str(port), **environment}
    command = [sys.executable, str(DEPLOY / "healthcheck.py")]
    found = subprocess.run(command, env=base, capture_output=True, text=True, timeout=50, check=False)
    return found.returncode, found.stdout


@contextmanager
def answering(status: int) -> Iterator[tuple[int, list[dict[str, str]]]]:
    seen: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({**dict(self.headers.items()), "path": self.path})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b'{"status": "told"}')

        def log_message(self, format: str, *args: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, seen
        server.shutdown()


@pytest.mark.parametrize(("status", "expected"), [(200, 0), (503, 1), (301, 1)])
def test_only_one_that_serves_is_healthy_and_what_it_says_is_kept(status: int, expected: int) -> None:
    with answering(status) as (port, seen):
        assert asked(port, ALLOWED_HOSTS="albedo.example.org, other") == (expected, '{"status": "told"}')
    (request,) = seen
    assert request["Host"] == "albedo.example.org"
    assert (request["path"], request["X-Forwarded-Proto"]) == ("/api/health", "https")


def test_one_that_does_not_answer_is_not() -> None:
    code, said = asked(free_port())
    assert code == 1
    assert "refused" in said
