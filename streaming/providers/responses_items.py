"""Which output item does an event of Responses belong to?

`item_id` names it, where the server keeps ids stable; else `output_index`, where it counts; else the item
that is being written. Also keeps what was already told of each item, since the protocol tells all of it
up to five times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from streaming.providers.argument_text import same_arguments
from streaming.providers.call_drafts import CallDraft
from streaming.providers.told import Told
from streaming.providers.wire_errors import over_limit

Kind = Literal["message", "call", "reasoning"]
KINDS: Mapping[object, Kind] = {"message": "message", "function_call": "call", "reasoning": "reasoning"}


@dataclass(slots=True, eq=False)
class OutputItem:
    """`told` and `parts`: what was told of a message or thought; `whole`: the item as it came last."""

    kind: Kind
    index: int | None
    item_id: str
    call_id: str = ""
    draft: CallDraft | None = None
    told: Told = field(default_factory=Told)
    parts: dict[object, Told] = field(default_factory=dict)
    whole: Mapping[str, Any] | None = None
    announced: bool = False
    done: bool = False
    position: int | None = None

    def tell(self, part: object, text: str) -> None:
        self.told.add(text)
        self.part(part).add(text)

    def part(self, part: object) -> Told:
        return self.parts.setdefault(part, Told())

    @property
    def begun(self) -> bool:
        return self.told.chars > 0 or (self.draft is not None and self.draft.arguments.begun)


class ItemTable:
    """All items in the order in which they were first seen."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.items: list[OutputItem] = []
        self._by_id: dict[tuple[Kind, str], OutputItem] = {}
        self._by_call_id: dict[str, OutputItem] = {}
        self._by_index: dict[tuple[Kind, int | None], OutputItem] = {}
        self._latest: dict[Kind, OutputItem] = {}

    def of_kind(self, kind: Kind) -> list[OutputItem]:
        return [item for item in self.items if item.kind == kind]

    def open(self, kind: Kind, item_id: str, index: int | None) -> OutputItem:
        if len(self.items) >= self._most:
            raise over_limit("output items")
        item = OutputItem(kind, index, item_id)
        self.items.append(item)
        self._by_index[kind, index] = item
        self._latest[kind] = item
        self._alias(item, item_id)
        return item

    def for_part(self, kind: Kind, item_id: str, index: int | None) -> OutputItem:
        """The item of a delta or part; a delta without an announced item opens one."""
        known = self._by_id.get((kind, item_id)) or self._being_written(kind, item_id, index)
        if known is None:
            return self.open(kind, item_id, index)
        self._alias(known, item_id)
        return known

    def for_added(self, kind: Kind, item_id: str, call_id: str, index: int | None) -> OutputItem:
        """A new item, unless its id or its deltas were there before it."""
        known = self._by_id.get((kind, item_id))
        early = self._by_index.get((kind, index))
        if known is None and early is not None and not early.done:
            same = not early.announced or (call_id != "" and early.call_id == call_id)
            known = early if same else None
        item = known or self.open(kind, item_id, index)
        item.announced = True
        self.name_call(item, call_id)
        self._alias(item, item_id)
        return item

    def for_done(self, kind: Kind, item_id: str, call_id: str, index: int | None) -> OutputItem:
        item = self._by_id.get((kind, item_id))
        if item is None and call_id:
            item = self._by_call_id.get(call_id)
        if item is None:
            item = self._being_written(kind, item_id, index)
            if item is not None and call_id and item.call_id:
                # It has another call id, so it is another call.
                item = None
        item = item or self.open(kind, item_id, index)
        self.name_call(item, call_id)
        self._alias(item, item_id)
        return item

    def for_listed(self, kind: Kind, whole: Mapping[str, Any], position: int) -> OutputItem:
        """The item of an entry of the terminal output. Each item is listed once."""
        item = self._listed_by_name(kind, whole, position) or self._listed_by_content(kind, whole)
        if item is None:
            item = self.open(kind, text_of(whole.get("id")), None)
        item.position = position
        self.name_call(item, text_of(whole.get("call_id")))
        return item

    def name_call(self, item: OutputItem, call_id: str) -> None:
        if call_id and not item.call_id:
            item.call_id = call_id
            self._by_call_id[call_id] = item

    def _being_written(self, kind: Kind, item_id: str, index: int | None) -> OutputItem | None:
        at = self._by_index.get((kind, index))
        if at is not None and not at.done:
            return at
        last = self._latest.get(kind)
        if last is None or last.done:
            return None
        # An id and an index that nobody knows are a new item, unless the last one has nothing yet.
        return last if index is None or not item_id or not last.begun else None

    def _alias(self, item: OutputItem, item_id: str) -> None:
        if item_id:
            self._by_id.setdefault((item.kind, item_id), item)

    def _listed_by_name(self, kind: Kind, whole: Mapping[str, Any], position: int) -> OutputItem | None:
        call_id = text_of(whole.get("call_id"))
        at = self._by_index.get((kind, position))
        if at is not None and call_id and at.call_id and at.call_id != call_id:
            at = None
        candidates = (self._by_id.get((kind, text_of(whole.get("id")))), self._by_call_id.get(call_id), at)
        return next((item for item in candidates if item is not None and item.position is None), None)

    def _listed_by_content(self, kind: Kind, whole: Mapping[str, Any]) -> OutputItem | None:
        """No id fits. A call with the same arguments, or the next message, was told before."""
        unlisted = [item for item in self.of_kind(kind) if item.position is None]
        if kind != "call":
            return next(iter(unlisted), None)
        return next((item for item in unlisted if _same_call(item, whole)), None)


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def _same_call(item: OutputItem, whole: Mapping[str, Any]) -> bool:
    draft, arguments = item.draft, whole.get("arguments")
    if draft is None or draft.raw_name not in ("", whole.get("name")):
        return False
    return isinstance(arguments, str) and same_arguments(draft.arguments.text, arguments)
