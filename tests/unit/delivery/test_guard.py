from __future__ import annotations

from typing import Any

import pytest

from sessions_app.problems import Problem
from streaming.delivery import guard


def scope(kind: str = "websocket", **headers: str) -> dict[str, Any]:
    named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": kind, "headers": named}


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_own_names_pass(host: str) -> None:
    guard.check_host(scope(host=host))


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "a@localhost", "localhost, b", "[::1"]
)
def test_other_names_are_refused(host: str) -> None:
    with pytest.raises(Problem) as refused:
        guard.check_host(scope(host=host))
    assert refused.value.status == 400


def test_a_missing_host_is_refused() -> None:
    with pytest.raises(Problem):
        guard.check_host(scope())


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://LOCALHOST:8000", "localhost:8000"),
        ("http://localhost", "localhost"),
        ("http://localhost:80", "localhost"),
        ("http://localhost", "localhost:80"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_the_origin_that_the_client_connected_to_is_ours(origin: str, host: str) -> None:
    assert guard._origin_is_ours(scope(host=host, origin=origin))


@pytest.mark.parametrize(
    "origin",
    [
        "https://localhost:8000",
        "http://localhost:8001",
        "http://localhost",
        "http://127.0.0.1:8000",
        "http://localhost:8000/",
        "http://localhost:8000#",
        "http://user@localhost:8000",
        "http://localhost:8000@evil.example",
        "http://localhost:8000.evil.example",
        "http://localhost:8000, http://localhost:8000",
        "localhost:8000",
        "null",
        "",
        "http://[",
        "http://localhost:99999999",
        "file://localhost:8000",
    ],
)
def test_no_other_origin_is_ours(origin: str) -> None:
    assert not guard._origin_is_ours(scope(host="localhost:8000", origin=origin))
    assert not guard._origin_is_ours(scope("http", host="localhost:8000", origin=origin))


def test_a_socket_must_name_its_origin_and_a_get_need_not() -> None:
    assert not guard._origin_is_ours(scope(host="localhost:8000"))
    assert guard._origin_is_ours(scope("http", host="localhost:8000"))


def test_behind_a_trusted_proxy_its_word_is_the_scheme(settings: Any) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    given = {"host": "localhost", "origin": "https://localhost"}
    assert guard._origin_is_ours(scope(**given, x_forwarded_proto="https"))
    assert not guard._origin_is_ours(scope(**given, x_forwarded_proto="http"))
    assert not guard._origin_is_ours(scope(**given))


def test_without_one_its_word_counts_nothing() -> None:
    given = {"host": "localhost", "origin": "https://localhost"}
    assert not guard._origin_is_ours(scope(**given, x_forwarded_proto="https"))
