"""The live view of the calls that one attempt writes and that then run: contract section 6.

Pure: no clock, no transport. Events of a decoder go in, changes to publish come out, and at any moment
the whole view can be read. It stays under `projection_bytes` of memory, whatever the arguments are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from streaming.limits import ProgressLimits
from streaming.progress.call import ToolProgress, TrackedCall
from streaming.progress.coalesce import Update
from streaming.progress.room import make_room
from streaming.progress.sizes import deep_size
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    CallIdentified,
    CallOpened,
    StepEvent,
)

# The projection's own object, with a prefix of usual length.
_FRAME_BYTES: Final = 512

_CallEvent = CallOpened | CallIdentified | ArgumentsDelta | ArgumentsReplaced


@dataclass(frozen=True, slots=True)
class Change:
    """One `tool_progress` to publish: the live object, or None, which clears all.

    `immediate` is not to wait for coalescing: first appearances, transitions to running, clears.
    """

    progress: ToolProgress | None
    immediate: bool = False

    @property
    def update(self) -> Update:
        return Update("tool_progress", {"progress": self.progress}, self.immediate)


_CLEAR: Final = Change(None, immediate=True)


class Projection:
    """`preview_keys` names for each tool the argument that is previewed.

    A client folds the changes one by one, a call that it does not know at the end. Where that would give
    another list than `snapshot()` (a call is shown after one that opened later; a shown call was none),
    the changes clear all and show each again.
    """

    __slots__ = (
        "_calls",
        "_hot",
        "_limits",
        "_listening",
        "_prefix",
        "_preview_keys",
        "_room_bytes",
    )

    def __init__(self, limits: ProgressLimits, preview_keys: Mapping[str, str]) -> None:
        self._limits = limits
        self._preview_keys = preview_keys
        self._calls: dict[int, TrackedCall] = {}
        # The call that was fed last; the windows of the others rest.
        self._hot: TrackedCall | None = None
        self._prefix = ""
        self._listening = False
        self._room_bytes = limits.projection_bytes - _FRAME_BYTES - deep_size(limits, preview_keys)

    def begin(self, prefix: str) -> list[Change]:
        """An attempt begins, whose calls are named `prefix-<slot>`. Clears what an earlier one left shown."""
        changes = self.clear()
        self._prefix = prefix
        self._listening = True
        return changes

    def apply(self, event: StepEvent, started_at: str) -> list[Change]:
        """`started_at` (RFC 3339) is for the call that the event may open. Nothing after a clear."""
        if not self._listening:
            return []
        match event:
            case CallOpened() | CallIdentified() | ArgumentsDelta() | ArgumentsReplaced():
                return self._apply(event, started_at)
            case CallDropped(slot=slot):
                return self._drop(slot)
            case _:
                return []

    def running(
        self,
        call_id: str,
        *,
        tool_call_id: str | None,
        name: str,
        arguments_chars: int,
        started_at: str,
        arguments: str | None = None,
    ) -> list[Change]:
        """The call begins to run and keeps its preview; one that is not shown is from now on.

        `arguments`, the whole raw text, make the preview anew: for a call not shown so far, or edited.
        `started_at` counts for a call not known so far. Calls run one after the other: remove each.
        Raises ValueError for a call of another attempt than those shown.
        """
        slot = self._adopt(call_id)
        call = self._calls.get(slot)
        appears = call is None or not call.is_named
        call = call or self._calls.setdefault(slot, TrackedCall(started_at))
        self._warm(call)
        call.run(self._preview_keys.get(name), arguments_chars, arguments, self._limits)
        call.set_name(name, self._limits)
        call.set_tool_call_id(tool_call_id, self._limits)
        return self._told(slot, appears=appears, immediate=True)

    def tracks(self, call_id: str) -> bool:
        """Whether the call's arguments were followed as they came, so that its preview is there."""
        prefix, _, slot = call_id.rpartition("-")
        return prefix == self._prefix and int(slot) in self._calls

    def set_tool_call_id(self, call_id: str, tool_call_id: str | None) -> list[Change]:
        """The id to show from now on, where the provider's own would not be distinct."""
        slot = self._slot_of(call_id)
        call = None if slot is None else self._calls.get(slot)
        if call is None:
            return []
        call.has_own_id = True
        changed = call.set_tool_call_id(tool_call_id, self._limits)
        return self._told(slot) if changed and call.is_named else []

    def remove(self, call_id: str) -> None:
        """The call's result came; its `tool` event tells so. Nothing for a call that is not known."""
        slot = self._slot_of(call_id)
        if slot is not None:
            self._forget(slot)

    def clear(self) -> list[Change]:
        """Shows nothing more of this attempt: retry, interrupt, failure, end of the run."""
        changes = [_CLEAR] if self._shown_slots() else []
        self._listening = False
        self._hot = None
        self._calls.clear()
        return changes

    def snapshot(self) -> list[ToolProgress]:
        """The live objects in output order; copies."""
        return [self._show(slot) for slot in self._shown_slots()]

    def text_bytes(self) -> int:
        """UTF-8 bytes of the preview texts."""
        return sum(preview.utf8_bytes() for call in self._calls.values() for preview in call.previews)

    def deep_size(self) -> int:
        """Bytes of memory, with containers, scanners and hidden calls."""
        return deep_size(self)

    def _apply(self, event: _CallEvent, started_at: str) -> list[Change]:
        if event.slot not in self._calls and len(self._calls) >= 2 * self._limits.shown_calls:
            # So many without a name are an attack; to show none is what a 33rd named one does too.
            return self.clear()
        call = self._calls.get(event.slot) or self._open(event.slot, started_at)
        was_named = call.is_named
        changed = not call.running and self._update(call, event)
        appears = call.is_named and not was_named
        if appears and len(self._shown_slots()) > self._limits.shown_calls:
            return self.clear()
        told = event.slot if changed and call.is_named else None
        return self._told(told, appears=appears, immediate=appears)

    def _update(self, call: TrackedCall, event: _CallEvent) -> bool:
        match event:
            case CallOpened():
                return False
            case CallIdentified():
                return self._identify(call, event)
            case ArgumentsDelta(text=text):
                self._warm(call)
                call.feed(text)
                return bool(text)
            case ArgumentsReplaced(text=text):
                self._warm(call)
                call.restart(text, self._limits)
                return True

    def _identify(self, call: TrackedCall, event: CallIdentified) -> bool:
        changed = False
        if event.name:
            own = self._preview_keys.get(event.name)
            call.choose_previews(own, self._possible_keys(event.name), self._limits)
            changed = call.set_name(event.name, self._limits)
        if event.native_id and not call.has_own_id:
            changed |= call.set_tool_call_id(event.native_id, self._limits)
        return changed

    def _open(self, slot: int, started_at: str) -> TrackedCall:
        call = self._calls[slot] = TrackedCall(started_at)
        call.choose_previews(None, self._possible_keys(""), self._limits)
        return call

    def _possible_keys(self, beginning: str) -> list[str]:
        """The preview arguments of the tools that a name may become, its own first. One for each call, and
        `shown_calls` in all: with tools of many kinds of previews, calls named late may lose theirs.
        """
        tools = sorted(tool for tool in self._preview_keys if tool.startswith(beginning))
        keys = list(dict.fromkeys(self._preview_keys[tool] for tool in tools))
        read = sum(call.preview_count for call in self._calls.values())
        return keys[: max(1, self._limits.shown_calls - read)]

    def _drop(self, slot: int) -> list[Change]:
        call = self._forget(slot)
        return [_CLEAR, *self._show_all()] if call is not None and call.is_named else []

    def _forget(self, slot: int) -> TrackedCall | None:
        call = self._calls.pop(slot, None)
        if call is self._hot:
            self._hot = None
        return call

    def _told(self, slot: int | None, *, appears: bool = False, immediate: bool = False) -> list[Change]:
        """The changes that tell of `slot`, and of the windows that were shortened to make room for it."""
        shortened = make_room(self._calls, self._room_bytes)
        if appears and self._shown_slots()[-1:] != [slot]:
            return [_CLEAR, *self._show_all()]
        changes = [] if slot is None else [Change(self._show(slot), immediate)]
        if shortened:
            others = (other for other in self._shown_slots() if other in shortened and other != slot)
            changes += [Change(self._show(other)) for other in others]
        return changes

    def _show_all(self) -> list[Change]:
        return [Change(shown, immediate=True) for shown in self.snapshot()]

    def _show(self, slot: int) -> ToolProgress:
        return self._calls[slot].show(f"{self._prefix}-{slot}", self._limits)

    def _shown_slots(self) -> list[int]:
        return sorted(slot for slot, call in self._calls.items() if call.is_named)

    def _warm(self, call: TrackedCall) -> None:
        if self._hot is not None and self._hot is not call:
            self._hot.rest()
        self._hot = call

    def _slot_of(self, call_id: str) -> int | None:
        """None for a call of another attempt."""
        prefix, _, slot = call_id.rpartition("-")
        return int(slot) if prefix == self._prefix else None

    def _adopt(self, call_id: str) -> int:
        """The slot of `call_id`, whose attempt becomes the present one where no call is known."""
        prefix, _, slot = call_id.rpartition("-")
        if prefix != self._prefix and self._calls:
            raise ValueError(f"{call_id} is not of the attempt {self._prefix}")
        self._prefix = prefix
        return int(slot)
