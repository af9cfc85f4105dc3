"""Text and thoughts of Responses items: told live by deltas, completed by the statements that follow.

Each statement (`text.done`, `part.done`, `item.done`, the terminal output) repeats all before it: only what
it adds is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streaming.providers.answer import Answer
from streaming.providers.responses_items import OutputItem, text_of


class ItemTexts:
    """Tells the text of messages, refusals and thoughts to an `Answer`, each character once."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._thought: tuple[OutputItem, object] | None = None

    def add(self, item: OutputItem, part: object, text: str, *, refusal: bool = False) -> None:
        """A delta of one part."""
        if text:
            item.tell(part, text)
            self._answer.refusal = self._answer.refusal or refusal
            self._answer.add_text(text)

    def state_part(self, item: OutputItem, part: object, text: str, *, refusal: bool = False) -> None:
        told = item.part(part)
        if not told.chars and text and item.told.ends_with(text):
            # The same part under another index.
            return
        self.add(item, part, told.untold(text) or "", refusal=refusal)

    def state_message(self, item: OutputItem, whole: Mapping[str, Any]) -> None:
        parts = list(_message_parts(whole.get("content")))
        untold = item.told.untold("".join(text for text, _ in parts))
        self.add(item, "whole", untold or "", refusal=any(refused for _, refused in parts))

    def add_thought(self, item: OutputItem, source: str, part: object, text: str) -> None:
        """A delta of a summary or of the raw reasoning: the first source of an item is the one shown."""
        if not text or any(told_source != source for told_source, _ in _sources(item)):
            return
        if self._thought not in (None, (item, part)):
            self._answer.separate_thinking()
        self._thought = (item, part)
        item.tell((source, part), text)
        self._answer.add_thinking(text)

    def state_thought(self, item: OutputItem, source: str, part: object, text: str) -> None:
        self.add_thought(item, source, part, item.part((source, part)).untold(text) or "")

    def state_reasoning(self, item: OutputItem, whole: Mapping[str, Any]) -> None:
        if item.told.chars:
            return
        for source in ("summary", "content"):
            for part, text in enumerate(_texts(whole.get(source))):
                self.state_thought(item, source, part, text)


def _sources(item: OutputItem) -> Iterator[tuple[str, object]]:
    return (key for key, told in item.parts.items() if told.chars and isinstance(key, tuple))


def _message_parts(content: object) -> Iterator[tuple[str, bool]]:
    """`(text, is a refusal)` of each part that has any."""
    if isinstance(content, str):
        yield content, False
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "refusal":
            yield text_of(part.get("refusal")), True
        elif isinstance(part, dict):
            yield text_of(part.get("text")), False


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value if isinstance(value, list) else []:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def delta_text(value: object) -> str:
    """A text that is sent bare, or as a part."""
    return text_of(value.get("text")) if isinstance(value, dict) else text_of(value)
