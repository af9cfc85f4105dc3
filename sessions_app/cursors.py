"""Positions that a client gives back: stream cursors as it says them, page tokens as we signed them.

A page token is tied to its user and query and grants nothing: access is checked again with every use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core import signing

from sessions_app.live import Cursor
from sessions_app.problems import InvalidRequest

SEQUENCE = re.compile(r"[0-9]{1,18}", re.ASCII)
GENERATION = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
TOKEN_CHARS = 1_000
_SALT = "albedo.page"


def parse_cursor(generation: str | None, sequence: str | None) -> Cursor | None:
    """The stream cursor that two query parameters spell, None without either. Raises InvalidRequest."""
    if generation is None and sequence is None:
        return None
    if generation is None or not GENERATION.fullmatch(generation):
        raise InvalidRequest(
            "A cursor is a generation and a sequence as the stream gave them.", "/after_generation"
        )
    if sequence is None or not SEQUENCE.fullmatch(sequence):
        raise InvalidRequest("A cursor is a generation and a sequence as the stream gave them.", "/after_seq")
    return Cursor(generation, int(sequence))


def make_token(query: Sequence[Any], position: Sequence[Any]) -> str:
    """A token for `position` in the list that `query` names (kind, user, session, filters)."""
    return signing.Signer(salt=_SALT).sign_object([_plain(query), _plain(position)])


def read_token(query: Sequence[Any], token: str) -> list[Any]:
    """The position in a token made for this very query. Raises InvalidRequest."""
    if len(token) <= TOKEN_CHARS:
        try:
            asked, position = signing.Signer(salt=_SALT).unsign_object(token)
        except signing.BadSignature:
            pass
        else:
            if asked == _plain(query):
                return list(position)
    raise InvalidRequest("This page token is not one of this list.", "/next")


def _plain(values: Sequence[Any]) -> list[Any]:
    return [_word(value) for value in values]


def _word(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
