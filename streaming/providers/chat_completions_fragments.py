"""One entry of `tool_calls` as servers write it, read into one shape. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streaming.providers.call_ids import clean_native_id
from streaming.providers.provider_json import BadJson, dump
from streaming.providers.surrogates import mend
from streaming.providers.wire_errors import damaged

LEGACY_INDEX = -1
_MAX_INDEX_DIGITS = 18
# Gemini and gateways in front of it answer 400 unless these come back on the same call.
_ECHOED = frozenset(
    {"extra_content", "provider_specific_fields", "thought_signature", "thoughtSignature", "signature"}
)


class CallFragment(NamedTuple):
    """`text` is the argument fragment; `whole` says that it is all of them (they came as an object)."""

    at_index: int | None
    native_id: str
    name: str
    text: str
    whole: bool
    echo: dict[str, Any]

    @property
    def starts_value(self) -> bool:
        """The arguments begin here, as far as one can see."""
        return self.text.lstrip().startswith(("{", '"{'))


def read_fragments(value: object) -> list[CallFragment]:
    """The entries of a `tool_calls` value: a list, a lone entry, or an object of entries by index."""
    if isinstance(value, dict):
        value = [value] if "function" in value or "id" in value else list(value.values())
    if not isinstance(value, list):
        return []
    return [read_fragment(entry) for entry in value if isinstance(entry, dict)]


def read_fragment(entry: Mapping[str, Any]) -> CallFragment:
    function = entry.get("function")
    if not isinstance(function, dict):
        # Some put name and arguments on the call itself.
        function = entry
    text, whole = _arguments(function.get("arguments"))
    return CallFragment(
        at_index=_index(entry.get("index")),
        native_id=mend(clean_native_id(entry.get("id"))),
        name=_name(function.get("name")),
        text=text,
        whole=whole,
        echo=read_echo(entry),
    )


def read_legacy_fragment(value: Mapping[str, Any]) -> CallFragment:
    """`function_call`, the one call of a time before `tool_calls`."""
    return read_fragment({"index": LEGACY_INDEX, "function": value})


def read_echo(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The vendor fields of a call or message that must go back as they came."""
    if _ECHOED.isdisjoint(entry):
        return {}
    return {name: value for name, value in entry.items() if name in _ECHOED and value}


def _index(value: object) -> int | None:
    """A hint at most, so whatever is no number is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_INDEX_DIGITS:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _name(value: object) -> str:
    return mend(value) if isinstance(value, str) and value.strip() not in ("", "null") else ""


def _arguments(value: object) -> tuple[str, bool]:
    # Not mended: half a surrogate pair may wait for the next fragment.
    if isinstance(value, str):
        return value, False
    if value is None:
        return "", False
    try:
        return dump(value), True
    except BadJson:
        raise damaged() from None
