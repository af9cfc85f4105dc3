"""Log lines hold together."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import DisallowedHost
from redis.exceptions import ConnectionError as LineBroke

from albedo_project.logs import ClientFaults, LostLines, OneLineFormatter, Seldom


def line(message: str, *arguments: object, trace: bool = False) -> str:
    info = sys.exc_info() if trace else None
    record = logging.LogRecord("albedo", logging.INFO, __file__, 1, message, arguments, info)
    return OneLineFormatter("%(asctime)s %(levelname)s %(message)s").format(record)


@pytest.mark.parametrize("cut", ["\n", "\r\n", "\x1b[2K", "\x85", "\u2028", "\x00", "\ud800"])
def test_no_text_breaks_out_of_its_line(cut: str) -> None:
    written = line("name %s", f"a{cut}INFO forged")
    written.encode("utf-8")
    assert written.splitlines() == [written]
    assert written.isprintable()


def test_what_was_escaped_can_be_read() -> None:
    assert line("a\tb\nc\x1b").endswith("INFO a\\tb\\nc\\u001b")


def test_a_traceback_stays_on_the_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        written = line("failed", trace=True)
    assert written.splitlines() == [written]
    assert "ValueError: two\\nlines" in written


def test_times_are_utc() -> None:
    record = logging.LogRecord("albedo", logging.INFO, __file__, 1, "", (), None)
    record.created, record.msecs = 0.0, 7
    assert OneLineFormatter("%(asctime)s").format(record) == "1970-01-01T00:00:00.007Z"


@pytest.mark.parametrize(
    ("name", "level"), [("django.security.DisallowedHost", "WARNING"), ("albedo.actor", "ERROR")]
)
def test_a_refused_client_is_a_line_and_a_fault_of_ours_keeps_its_traceback(name: str, level: str) -> None:
    try:
        raise DisallowedHost("evil.example")
    except DisallowedHost as error:
        fault = (type(error), error, error.__traceback__)
    record = logging.LogRecord(name, logging.ERROR, __file__, 1, "refused", (), fault)
    assert ClientFaults().filter(record)
    written = OneLineFormatter("%(levelname)s %(message)s").format(record)
    assert written.startswith(f"{level} refused")
    assert ("Traceback" in written) is (level == "ERROR")


@pytest.mark.parametrize("error", [LineBroke("closed by server"), ConnectionResetError("reset")])
def test_a_line_to_redis_that_broke_is_a_line_of_the_log(error: Exception) -> None:
    record = logging.LogRecord("layer", logging.ERROR, __file__, 1, "in %s", ("a task",), None)
    record.exc_info = (type(error), error, error.__traceback__)
    assert LostLines().filter(record)
    assert (record.getMessage(), record.levelname) == (f"in a task: {type(error).__name__}", "WARNING")
    assert record.exc_info is None


def test_any_other_fault_of_a_layer_keeps_its_traceback() -> None:
    error = ValueError("ours")
    record = logging.LogRecord("layer", logging.ERROR, __file__, 1, "in a task", (), None)
    record.exc_info = (ValueError, error, None)
    assert LostLines().filter(record)
    assert (record.levelname, record.exc_info) == ("ERROR", (ValueError, error, None))


def test_a_logger_that_repeats_itself_is_heard_seldom() -> None:
    times = iter([0.0, 1.0, 59.0, 60.0, 61.0])
    seldom = Seldom(60, lambda: next(times))
    record = logging.LogRecord("layer", logging.ERROR, __file__, 1, "away", (), None)
    passed = [seldom.filter(record) for _ in range(5)]
    assert passed == [True, False, False, True, False]


def test_every_handler_knows_a_clients_fault() -> None:
    handlers: Any = settings.LOGGING["handlers"]
    assert all("client_faults" in handler["filters"] for handler in handlers.values())
