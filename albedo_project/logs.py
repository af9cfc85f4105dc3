"""Log lines: one record is one line, whatever text of a client or of a model stands in it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from redis.exceptions import RedisError

# C0 and C1 controls, and the separators that viewers and splitlines() break at.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class OneLineFormatter(logging.Formatter):
    """UTC time, level, logger, message and traceback, with every control character escaped."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return UNSAFE.sub(_escaped, super().format(record))


class ClientFaults(logging.Filter):
    """Requests that Django refuses are a client's doing: told in a line, without the server's inside."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = record.exc_text = None
        return True


class LostLines(logging.Filter):
    """A line to Redis that broke is told in a line: where that was noticed explains nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (RedisError, OSError)):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = f"{record.getMessage()}: {type(error).__name__}", ()
            record.exc_info = record.exc_text = None
        return True


class Seldom(logging.Filter):
    """One record in `seconds`, for a logger that repeats itself while something is away."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._next_at = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        if now < self._next_at:
            return False
        self._next_at = now + self._seconds
        return True


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or f"\\u{ord(character):04x}"
