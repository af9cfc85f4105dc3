"""The calls among the output items of Responses: their drafts, their ids, their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streaming.providers.call_drafts import CallDraft, CallDrafts
from streaming.providers.call_ids import clean_native_id
from streaming.providers.provider_json import BadJson, dump
from streaming.providers.responses_items import ItemTable, OutputItem, text_of
from streaming.providers.surrogates import mend
from streaming.providers.types import StepResponse
from streaming.providers.wire_errors import damaged


class ItemCalls:
    def __init__(self, drafts: CallDrafts, table: ItemTable) -> None:
        self._drafts = drafts
        self._table = table

    def add(self, item: OutputItem, event: Mapping[str, Any]) -> None:
        """A delta of arguments."""
        draft, delta = self._draft(item), event.get("delta")
        if isinstance(delta, str):
            self._drafts.add(draft, delta)
        else:
            self._drafts.state(draft, _arguments(delta))

    def state(self, item: OutputItem, whole: Mapping[str, Any]) -> None:
        """Whatever an item, or the `done` of its arguments, says of the call."""
        draft = self._draft(item)
        self._drafts.identify(
            draft,
            name=mend(text_of(whole.get("name"))),
            native_id=mend(clean_native_id(whole.get("call_id"))),
        )
        draft.half_written = draft.half_written or whole.get("status") == "incomplete"
        self._drafts.state(draft, _arguments(whole.get("arguments")))

    def name_by_items(self) -> None:
        """Where no `call_id` ever came, the id of the item serves for the call and its result."""
        for item in self._table.of_kind("call"):
            if item.draft is not None and not item.draft.native_id:
                self._drafts.identify(item.draft, native_id=mend(clean_native_id(item.item_id)))

    def in_output_order(self, response: StepResponse) -> StepResponse:
        """Calls as the terminal output lists them, else by `output_index` where it tells them apart."""
        items = {item.draft.slot: item for item in self._table.of_kind("call") if item.draft is not None}
        for places in (
            {slot: item.position for slot, item in items.items()},
            {slot: item.index for slot, item in items.items()},
        ):
            order = [places.get(call.slot) for call in response.calls]
            if None not in order and len(set(order)) == len(order):
                calls = sorted(response.calls, key=lambda call: places[call.slot] or 0)
                return replace(response, calls=tuple(calls))
        return response

    def _draft(self, item: OutputItem) -> CallDraft:
        if item.draft is None:
            item.draft = self._drafts.open()
        return item.draft


def _arguments(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return dump(value)
    except BadJson:
        raise damaged() from None
