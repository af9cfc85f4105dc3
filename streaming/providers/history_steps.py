"""History items as the turns a provider knows: user messages, and steps whose every call has its one result.

Pure. Whatever the history lacks or has twice (a crash, an interrupt, a repeated result), what comes out is
well formed: a call without result gets one that says so, a result without call is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from streaming.providers.call_ids import wire_call_id
from streaming.providers.types import AssistantItem, CallItem, Item, ResultItem, ThinkingItem, UserItem

MAX_CALL_ID_CHARS = 64
NO_RESULT = '{"status":"interrupted","output":"","error":"The call has no result: it was not completed."}'


@dataclass(frozen=True, slots=True)
class PairedCall:
    """A call and its result under the id that both carry on the wire."""

    wire_id: str
    call: CallItem
    result: str


@dataclass(slots=True)
class Step:
    thinking: list[ThinkingItem] = field(default_factory=list)
    texts: list[AssistantItem] = field(default_factory=list)
    calls: list[CallItem] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    paired: list[PairedCall] = field(default_factory=list)

    @property
    def says_something(self) -> bool:
        """False for a step of thinking alone, or of nothing: no provider takes such a message back."""
        return bool(self.calls or any(item.text.strip() for item in self.texts))


Turn = UserItem | Step


def turns(items: Sequence[Item]) -> list[Turn]:
    """The history in order. Wire ids are unique over all of it."""
    found: list[Turn] = []
    for item in items:
        _add(found, item)
    kept = [turn for turn in found if isinstance(turn, UserItem) or turn.says_something]
    _pair(turn for turn in kept if isinstance(turn, Step))
    return kept


def _add(found: list[Turn], item: Item) -> None:
    if isinstance(item, UserItem):
        found.append(item)
    elif isinstance(item, ResultItem):
        _add_result(found, item)
    else:
        _add_part(_open_step(found, item), item)


def _open_step(found: list[Turn], item: ThinkingItem | AssistantItem | CallItem) -> Step:
    """The step that `item` belongs to: thinking comes before text, text before calls, results end a step."""
    last = found[-1] if found else None
    if isinstance(last, Step) and not _begins_new_step(last, item):
        return last
    step = Step()
    found.append(step)
    return step


def _begins_new_step(step: Step, item: ThinkingItem | AssistantItem | CallItem) -> bool:
    if step.results:
        return True
    if isinstance(item, CallItem):
        return any(call.tool_call_id == item.tool_call_id for call in step.calls)
    if isinstance(item, AssistantItem):
        return bool(step.calls)
    return bool(step.calls or step.texts)


def _add_part(step: Step, item: ThinkingItem | AssistantItem | CallItem) -> None:
    match item:
        case ThinkingItem():
            step.thinking.append(item)
        case AssistantItem():
            step.texts.append(item)
        case CallItem():
            step.calls.append(item)


def _add_result(found: list[Turn], item: ResultItem) -> None:
    """To the newest call of that id that still waits; a later or second result of it is nobody's."""
    for turn in reversed(found):
        if isinstance(turn, Step) and any(call.tool_call_id == item.tool_call_id for call in turn.calls):
            turn.results.setdefault(item.tool_call_id, item.text)
            return


def _pair(steps: Iterable[Step]) -> None:
    used: set[str] = set()
    for step in steps:
        for call in step.calls:
            wire_id = _unused(wire_call_id(call.tool_call_id, max_len=MAX_CALL_ID_CHARS), used)
            used.add(wire_id)
            step.paired.append(PairedCall(wire_id, call, step.results.get(call.tool_call_id, NO_RESULT)))


def _unused(wire_id: str, used: set[str]) -> str:
    candidate, number = wire_id, 1
    while candidate in used:
        number += 1
        suffix = f"-{number}"
        candidate = wire_id[: MAX_CALL_ID_CHARS - len(suffix)] + suffix
    return candidate
