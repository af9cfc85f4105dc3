"""Ports for servers that must be told one."""

from __future__ import annotations

import socket

from tests.support import processes
from tests.support.commands import run_python
from tests.support.processes import free_port


def test_no_port_is_given_twice() -> None:
    given = [free_port() for _ in range(50)]
    assert len(set(given)) == len(given)
    with socket.create_server(("127.0.0.1", given[0])):
        pass


def test_what_one_process_was_given_another_is_not() -> None:
    port = free_port()
    code = f"from tests.support.processes import _reserve; print(_reserve({port}), _reserve({port} + 20_000))"
    assert run_python("-c", code).stdout.split() == ["False", "True"]


def test_a_port_that_somebody_listens_on_is_passed_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not processes._bindable(taken.getsockname()[1])
