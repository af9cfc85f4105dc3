"""Reads a call's arguments: strict JSON, a fair schema, and words that say what was wrong. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from streaming.kernel.text import clean

DETAIL_CHARS = 300


class BadArguments(Exception):
    """The arguments cannot be used; the message is for the model."""


def parse_object(text: str) -> dict[str, Any]:
    """The object that `text` holds; blank text is an empty one. Raises BadArguments.

    Of a repeated key the last value stands, as in most readers of JSON. NUL and lone surrogates
    become U+FFFD.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise BadArguments(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos} of {len(text)}"
        ) from None
    except ValueError:
        raise BadArguments("the arguments hold a number with too many digits") from None
    except RecursionError:
        raise BadArguments("the arguments are nested too deeply") from None
    if not isinstance(value, dict):
        raise BadArguments(f"the arguments must be a JSON object, not {_name_of(value)}")
    return cleaned(value)


def cleaned(value: dict[str, Any]) -> dict[str, Any]:
    """The same with text that can be stored everywhere. Raises BadArguments where it is too deep."""
    try:
        return {clean(key): _cleaned(item) for key, item in value.items()}
    except RecursionError:
        raise BadArguments("the arguments are nested too deeply") from None


def fit(schema: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """`value` checked, without what the schema does not name. Raises BadArguments."""
    try:
        error = best_match(Draft202012Validator(schema).iter_errors(value))
    except RecursionError:
        raise BadArguments("the arguments are nested too deeply") from None
    if error is not None:
        raise BadArguments(f"the arguments do not fit the tool's schema: {_words(error)}")
    # A schema that speaks of other properties, by true or by a schema of their own, wants them.
    if "additionalProperties" in schema or "patternProperties" in schema:
        return dict(value)
    named = schema.get("properties", {})
    return {key: item for key, item in value.items() if key in named}


def _refuse_constant(name: str) -> NoReturn:
    raise BadArguments(f"the arguments are not valid JSON: {name} is not a JSON number")


def _words(error: ValidationError) -> str:
    path = "".join(f"/{part}" for part in error.absolute_path)
    message = error.message
    if len(message) > DETAIL_CHARS:
        # Such a message quotes the value first and ends in what is wrong with it.
        message = message[: DETAIL_CHARS // 2] + " ... " + message[-DETAIL_CHARS // 2 :]
    return f"at {path}: {message}" if path else message


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names[type(value)]
