"""Text and thinking in one delta or message of Chat Completions, in the fields vendors use for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_DETAIL_LISTS = ("reasoning_details", "thinking_blocks")
_TEXT_PARTS = ("text", "output_text", "input_text", None)
_THINKING_PARTS = ("thinking", "reasoning", "reasoning_text", "reasoning_content")


class Thought(NamedTuple):
    """`field` is where it came, and where it goes back to; "" where only details brought it."""

    field: str
    text: str


def content_pieces(value: object) -> Iterator[tuple[str, str]]:
    """`("text" | "thinking" | "refusal", text)` of a `content` value: a string, or parts."""
    if isinstance(value, str):
        yield "text", value
    for part in _parts(value):
        if isinstance(part, str):
            yield "text", part
        elif isinstance(part, dict):
            yield from _part(part)


def _parts(value: object) -> list[Any]:
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else []


def _part(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kind = part.get("type")
    if kind in _TEXT_PARTS and isinstance(part.get("text"), str):
        yield "text", part["text"]
    elif kind == "refusal" and isinstance(part.get("refusal"), str):
        yield "refusal", part["refusal"]
    elif kind in _THINKING_PARTS:
        # Mistral nests the parts of a thought once more.
        for name in ("thinking", "reasoning", "text"):
            for inner, text in content_pieces(part.get(name)):
                if inner == "text":
                    yield "thinking", text


def read_thought(delta: Mapping[str, Any]) -> Thought | None:
    """The thinking of one delta, once, though gateways repeat it in several fields."""
    for field in _THINKING_FIELDS:
        text = _thinking_text(delta.get(field))
        if text:
            return Thought(field, text)
    text = "".join(_detail_texts(delta))
    return Thought("", text) if text else None


def _thinking_text(value: object) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in ("content", "text", "summary") if value.get(name)), None)
    return value if isinstance(value, str) else ""


def _detail_texts(delta: Mapping[str, Any]) -> Iterator[str]:
    for _, detail in read_details(delta):
        for name in ("text", "summary", "thinking"):
            if isinstance(detail.get(name), str):
                yield detail[name]


def read_details(delta: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Structured thinking with the field it came in; signed by some vendors, so echoed."""
    for field in _DETAIL_LISTS:
        for detail in _parts(delta[field]) if field in delta else ():
            if isinstance(detail, dict):
                yield field, detail


class DetailLists:
    """Structured thinking put together from its fragments, as it has to be sent back."""

    _JOINED = ("text", "summary", "thinking", "data")

    def __init__(self) -> None:
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._texts: list[tuple[dict[str, Any], str, list[str]]] = []

    def add(self, field: str, detail: Mapping[str, Any]) -> None:
        entries = self._lists.setdefault(field, [])
        if entries and _continues(entries[-1], detail):
            target = entries[-1]
        else:
            target = {}
            entries.append(target)
        for name, value in detail.items():
            if name in self._JOINED and isinstance(value, str):
                self._join(target, name, value)
            elif value is not None or name not in target:
                target[name] = value

    def _join(self, target: dict[str, Any], name: str, value: str) -> None:
        """Pieces are kept apart until the end: joining at each fragment would be quadratic."""
        for owner, key, pieces in reversed(self._texts[-len(self._JOINED) :]):
            if owner is target and key == name:
                pieces.append(value)
                return
        target[name] = ""
        self._texts.append((target, name, [value]))

    def result(self) -> dict[str, list[dict[str, Any]]]:
        for target, name, pieces in self._texts:
            target[name] = "".join(pieces)
        return self._lists


def _continues(entry: Mapping[str, Any], detail: Mapping[str, Any]) -> bool:
    """The same kind at the same index: one detail in fragments. Signed already: the next one begins."""
    same = all(detail.get(name, entry.get(name)) == entry.get(name) for name in ("type", "index"))
    return same and not (entry.get("signature") and any(detail.get(name) for name in ("text", "thinking")))
