"""A body that is JSON and no stream of events: one object, a list of chunks, or a chunk on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streaming.providers.provider_json import BadJson, parse, parse_or_none
from streaming.providers.wire_errors import damaged


class JsonBody:
    """Gathers the body; its size is bounded by who feeds it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> None:
        self._pieces.append(data)

    def values(self) -> Iterator[tuple[bool, Mapping[str, Any]]]:
        """`(is it the whole answer, object)` of each object in the body. Raises `WireError`: not JSON."""
        text = b"".join(self._pieces)
        try:
            value = parse(text)
        except BadJson:
            yield from self._lines(text)
            return
        if isinstance(value, dict):
            yield True, value
        for entry in value if isinstance(value, list) else []:
            if isinstance(entry, dict):
                yield False, entry

    def _lines(self, text: bytes) -> Iterator[tuple[bool, Mapping[str, Any]]]:
        for line in filter(None, (line.strip() for line in text.split(b"\n"))):
            line = line.removeprefix(b"data:").strip()
            value = parse_or_none(line.decode("utf-8", "replace"))
            if isinstance(value, dict):
                yield False, value
            elif line != b"[DONE]":
                raise damaged()
