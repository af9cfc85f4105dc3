"""What a stream's client says in its query string, checked to the letter: cursor and tail, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sessions_app.cursors import parse_cursor
from sessions_app.live import Cursor
from sessions_app.problems import InvalidRequest

TAIL_DEFAULT = 100
TAIL_MOST = 200
_NAMES = frozenset({"after_generation", "after_seq", "tail"})


@dataclass(frozen=True, slots=True)
class Query:
    cursor: Cursor | None
    tail: int


def parse_query(query_string: bytes, last_event_id: str | None = None) -> Query:
    """Raises InvalidRequest. `last_event_id` counts only where the query names no cursor."""
    given = _pairs(query_string)
    generation, sequence = given.get("after_generation"), given.get("after_seq")
    if generation is None and sequence is None and last_event_id:
        generation, _, sequence = last_event_id.rpartition(":")
    return Query(parse_cursor(generation, sequence), _tail(given.get("tail")))


def no_query(query_string: bytes) -> None:
    """Raises InvalidRequest for anything at all."""
    if query_string:
        raise InvalidRequest("This stream takes no parameters.")


def _pairs(query_string: bytes) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query_string),
            errors="strict",
            max_num_fields=len(_NAMES),
        )
    except ValueError as error:
        raise InvalidRequest("The query string is malformed.") from error
    names = [name for name, _ in pairs]
    for name in names:
        if name not in _NAMES or names.count(name) > 1:
            raise InvalidRequest("A parameter is unknown, or given twice.")
    return dict(pairs)


def _tail(text: str | None) -> int:
    if text is None:
        return TAIL_DEFAULT
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= TAIL_MOST):
        raise InvalidRequest(f"`tail` is a number from 0 to {TAIL_MOST}.", "/tail")
    return int(text)
