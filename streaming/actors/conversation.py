"""A session's history as provider items: read once at the start of a run, grown as the run goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sessions_app.store import executor
from sessions_app.store.conversation import HistoryItem, load_conversation
from streaming.providers.types import (
    AssistantItem,
    CallItem,
    Item,
    ResultItem,
    StepResponse,
    ThinkingItem,
    UserItem,
)


class Conversation:
    """The items of the next request, in order."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items

    @classmethod
    async def load(cls, session_id: UUID) -> Conversation:
        history = await executor.read(load_conversation, session_id)
        return cls([item for entry in history for item in items_of(entry)])

    def add_user(self, text: str) -> None:
        self.items.append(UserItem(text))

    def add_step(self, response: StepResponse, calls: Sequence[CallItem]) -> None:
        self.items += thinking_items(response.thinking, response.thinking_echo)
        if response.text:
            self.items.append(AssistantItem(response.text, response.text_echo))
        self.items += calls

    def add_result(self, tool_call_id: str, text: str) -> None:
        self.items.append(ResultItem(tool_call_id, text))


def items_of(entry: HistoryItem) -> Iterable[Item]:
    """The items of one history entry; what must be echoed of the reasoning goes before its step."""
    echo = entry.echo or {}
    reasoning = echo.get("thinking", ())
    if entry.kind == "thinking":
        return thinking_items(entry.text, reasoning)
    return [*thinking_items("", reasoning), _plain_item(entry, echo)]


def thinking_items(text: str, echoes: Sequence[Any]) -> list[Item]:
    if not echoes:
        return [ThinkingItem(text)] if text else []
    return [ThinkingItem(text if number == 0 else "", echo) for number, echo in enumerate(echoes)]


def _plain_item(entry: HistoryItem, echo: Any) -> Item:
    if entry.kind == "user":
        return UserItem(entry.text)
    if entry.kind == "assistant":
        return AssistantItem(entry.text, echo.get("text"))
    if entry.kind == "tool_call":
        return CallItem(entry.tool_call_id, entry.name, entry.text, entry.call_echo)
    return ResultItem(entry.tool_call_id, entry.text)
