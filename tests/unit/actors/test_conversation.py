from __future__ import annotations

from sessions_app.store.conversation import HistoryItem
from streaming.actors.conversation import Conversation, items_of
from streaming.providers.types import (
    AssistantItem,
    CallItem,
    ResultItem,
    StepResponse,
    ThinkingItem,
    UserItem,
)

REASONING = {"type": "reasoning", "encrypted_content": "sealed"}


def test_each_kind_of_entry_becomes_its_item() -> None:
    history = [
        HistoryItem("user", "count"),
        HistoryItem("thinking", "how?"),
        HistoryItem("assistant", "so"),
        HistoryItem("tool_call", "{}", "call_1", "python", call_echo={"signature": "s"}),
        HistoryItem("tool_result", "3", "call_1"),
    ]
    assert [item for entry in history for item in items_of(entry)] == [
        UserItem("count"),
        ThinkingItem("how?"),
        AssistantItem("so"),
        CallItem("call_1", "python", "{}", {"signature": "s"}),
        ResultItem("call_1", "3"),
    ]


def test_reasoning_without_text_goes_before_the_call_it_came_with() -> None:
    entry = HistoryItem("tool_call", "{}", "call_1", "python", echo={"thinking": [REASONING]})
    assert list(items_of(entry)) == [ThinkingItem("", REASONING), CallItem("call_1", "python", "{}")]


def test_a_step_read_back_is_the_step_that_was_added() -> None:
    grown = Conversation([])
    response = StepResponse(text="so", thinking="how?", thinking_echo=(REASONING,))
    grown.add_step(response, [CallItem("call_1", "python", "{}")])
    grown.add_result("call_1", "3")
    stored = [
        HistoryItem("thinking", "how?", echo={"thinking": [REASONING]}),
        HistoryItem("assistant", "so"),
        HistoryItem("tool_call", "{}", "call_1", "python"),
        HistoryItem("tool_result", "3", "call_1"),
    ]
    assert grown.items == [item for entry in stored for item in items_of(entry)]
