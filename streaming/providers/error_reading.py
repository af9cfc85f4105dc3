"""Finding an error in what a provider wrote: is this object one, and what does it say?

Vendors nest it, flatten it, hide it beside null choices or under a 200. Says nothing about retries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streaming.providers.provider_json import parse_or_none
from streaming.providers.retry_hint import duration_seconds

_NESTED = ("error", "errors", "response", "base_resp", "detail", "details", "metadata", "status_details")
_TOKENS = ("code", "error_code", "type", "error_type", "status", "reason")
_STATUSES = ("code", "status", "status_code", "error_code", "http_status")
_MESSAGES = ("message", "error_message", "msg", "status_msg", "detail", "error", "title", "raw")
# Tuples: what is asked for in them may be a list or an object, which no set can be asked for.
_ERROR_TYPES = ("error", "response.error")
_NO_ERROR_CODES = (None, 0, 200, "", "0", "200", "ok", "success")
# An error object deeper than this is no error object of any vendor.
_MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """`tokens` are the codes and types in lower case, outermost first; `message` is the provider's own."""

    tokens: tuple[str, ...]
    statuses: tuple[int, ...]
    message: str
    more: str
    param: str
    wait_seconds: float | None

    @property
    def words(self) -> str:
        """All its prose, in lower case, for classification only."""
        return f"{self.message} {self.more}".lower()


def is_error(obj: Mapping[str, Any], event_name: str = "") -> bool:
    """Whether one event or body of either protocol is an error."""
    if obj.get("error") or event_name == "error":
        return True
    if obj.get("type") in _ERROR_TYPES or obj.get("object") == "error":
        return True
    if obj.get("choices"):
        return False
    if obj.get("error_type") or obj.get("error_message") or obj.get("errors"):
        return True
    base = obj.get("base_resp")
    if isinstance(base, dict) and not _harmless(base.get("status_code")):
        return True
    return _is_bare_error(obj)


def _is_bare_error(obj: Mapping[str, Any]) -> bool:
    """`{"code": 500, "message": "..."}` or `{"detail": "..."}`, as gateways write them."""
    if "choices" in obj or "object" in obj or "output" in obj or "response" in obj:
        return False
    said = any(isinstance(obj.get(name), str) and obj[name] for name in ("message", "msg", "detail"))
    coded = _status(obj) is not None or not _harmless(obj.get("code"))
    # Words alone may be a sign of life (`{"status": "queued", "message": "..."}`).
    return said and (coded or not {"type", "status"} & obj.keys())


def _harmless(code: object) -> bool:
    return isinstance(code, dict | list) or code in _NO_ERROR_CODES


def read_error(value: object) -> ErrorFacts:
    """What an error object, text or list says, wherever it says it."""
    layers = list(_layers(value))
    messages = [text for layer in layers for text in _texts(layer, _MESSAGES)]
    own = next((text for layer in reversed(layers) for text in _texts(layer, _MESSAGES[:4])), "")
    return ErrorFacts(
        tokens=tuple(text.lower() for layer in layers for text in _texts(layer, _TOKENS)),
        statuses=tuple(code for layer in layers if (code := _status(layer)) is not None),
        message=own or next(iter(messages), ""),
        more=" ".join(messages),
        param=next((text for layer in layers for text in _texts(layer, ("param",))), ""),
        wait_seconds=next((wait for layer in layers if (wait := _wait(layer)) is not None), None),
    )


def _layers(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, str):
        yield {"message": value}
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for entry in value[:8]:
            yield from _layers(entry, depth + 1)
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        # Innermost last: what the upstream said is more telling than a gateway's "provider returned error".
        yield value
        for name in _NESTED:
            if isinstance(value.get(name), dict | list):
                yield from _layers(value[name], depth + 1)
        raw = value.get("raw")
        if isinstance(raw, str) and isinstance(inner := parse_or_none(raw), dict):
            yield from _layers({"metadata": dict(inner)}, depth + 1)


def _texts(layer: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if isinstance(text := layer.get(name), str) and text.strip():
            yield text


def _status(layer: Mapping[str, Any]) -> int | None:
    for name in _STATUSES:
        code = layer.get(name)
        if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
            code = int(code)
        if isinstance(code, int) and 400 <= code <= 599:
            return code
    return None


def _wait(layer: Mapping[str, Any]) -> float | None:
    wait = duration_seconds(layer.get("retryDelay"))
    if wait is not None:
        return wait
    seconds = layer.get("retry_after", layer.get("retry_after_seconds"))
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < float("inf"):
        return float(seconds)
    return None
