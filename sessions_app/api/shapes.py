"""Shapes that several resources share: strict bodies, bounded texts, numbers in a query, lists."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar
from uuid import UUID

from django.conf import settings
from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from sessions_app.cursors import make_token, read_token
from sessions_app.ids import is_uuid7, parse_id
from sessions_app.problems import InvalidRequest, NotFound

T = TypeVar("T")

DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)


def _digits(value: Any) -> Any:
    """Digits as a query spells them: no sign, no blank, no underscore, no other script."""
    if isinstance(value, str):
        if not DIGITS.fullmatch(value):
            raise ValueError("must be a whole number in digits")
        return int(value)
    return value


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ("true", "false"):
            raise ValueError("must be true or false")
        return value == "true"
    return value


Number = Annotated[int, BeforeValidator(_digits)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Name = Annotated[str, StringConstraints(max_length=200)]
ProfileChoice = Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-z0-9_-]{0,63})?$")]
PageToken = Annotated[str, StringConstraints(max_length=1_000)]
Id = Annotated[str, Field(description="A UUID.")]
Time = Annotated[str, Field(description="RFC 3339, UTC.")]


class Body(Schema):
    """What a client sends: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


def left_out(description: str | None = None) -> Any:
    """The default of a field that may be absent but not null; `model_fields_set` tells which were given."""
    return Field(default=None, description=description, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class Shown(Schema):
    """What the server answers."""

    model_config = ConfigDict(extra="forbid")


class PageQuery(Schema):
    """How a list is paged."""

    limit: Number | None = Field(None, ge=1, description="Items of a page: 50 by default, at most 200.")
    next: PageToken | None = Field(None, description="The token that the page before gave.")

    def count(self) -> int:
        """Items of this page. Raises InvalidRequest beyond the most that is allowed."""
        return bounded("limit", self.limit, "list_limit", "list_limit_max")

    def position(self, query: list[Any]) -> list[Any] | None:
        """Where this page of the list that `query` names begins; None at its start."""
        return None if self.next is None else read_token(query, self.next)


def bounded(name: str, value: int | None, default: str, maximum: str) -> int:
    """`value` or a default, both settings. Raises InvalidRequest beyond the maximum."""
    most = int(settings.ALBEDO[maximum])
    if value is None:
        return min(int(settings.ALBEDO[default]), most)
    if value > most:
        raise InvalidRequest(f"{name} is at most {most}.", f"/{name}")
    return value


def page(rows: list[T], limit: int, query: list[Any], position: Any) -> tuple[list[T], str | None]:
    """At most `limit` of `rows`, read as one more, and the token of the next page.

    `position` gives the key of a row, a list.
    """
    shown = rows[:limit]
    more = len(rows) > limit
    return shown, make_token(query, position(shown[-1])) if more else None


def path_id(text: str) -> UUID:
    """An id in a path; what is none is as unknown as one that does not exist. Raises NotFound."""
    value = parse_id(text)
    if value is None:
        raise NotFound
    return value


def new_path_id(text: str) -> UUID:
    """An id that a client makes. Raises InvalidRequest."""
    value = parse_id(text)
    if value is None or not is_uuid7(value):
        raise InvalidRequest("An id that you make must be a UUIDv7 in its usual form.")
    return value
