"""The calls of one response while they are written: identity, arguments, and which were none at all.

Shared by both protocols; which call a wire event belongs to is decided by their routers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streaming.limits import WireLimits
from streaming.providers.argument_text import ArgumentText, Edit, canonical
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    CallIdentified,
    CallOpened,
    StepEvent,
)
from streaming.providers.tool_names import clean_name, cut_name, joined_name
from streaming.providers.types import AssembledCall
from streaming.providers.wire_errors import ArgumentOverflow, over_limit, truncated


@dataclass(slots=True, eq=False)
class CallDraft:
    """`slot` is None while the draft is only a suspicion, of which nobody was told."""

    slot: int | None = None
    native_id: str = ""
    raw_name: str = ""
    name: str = ""
    arguments: ArgumentText = field(default_factory=ArgumentText)
    echo: dict[str, Any] = field(default_factory=dict)
    half_written: bool = False
    announced: tuple[str | None, str | None] = (None, None)


class CallDrafts:
    """Opens drafts, feeds them, tells of them by `emit`, and settles them at the end."""

    def __init__(
        self,
        emit: Callable[[StepEvent], None],
        limits: WireLimits,
        argument_limits: Mapping[str, int],
        known_tools: frozenset[str],
    ) -> None:
        self._emit = emit
        self._limits = limits
        self._argument_limits = argument_limits
        self._widest = max([limits.default_argument_chars, *argument_limits.values()])
        self._known = known_tools
        self._shown: list[CallDraft] = []
        self._drafts = 0

    def __bool__(self) -> bool:
        return bool(self._shown)

    def open(self, *, suspected: bool = False) -> CallDraft:
        self._drafts += 1
        if self._drafts > self._limits.calls:
            raise over_limit("calls")
        draft = CallDraft()
        if not suspected:
            self._show(draft)
        return draft

    def identify(self, draft: CallDraft, *, name: str = "", native_id: str = "") -> None:
        """Ids are set once. Names are too, or joined from their pieces before any arguments."""
        if native_id and not draft.native_id:
            if len(native_id.encode("utf-8", "replace")) > self._limits.native_id_bytes:
                raise over_limit("bytes in a call id")
            draft.native_id = native_id
        if name and not (draft.raw_name and draft.arguments.begun):
            joined = joined_name(draft.raw_name, name, self._known)
            draft.raw_name = cut_name(joined, self._limits.name_bytes)
            draft.name = clean_name(draft.raw_name, self._known)
        if draft.slot is not None:
            self._announce(draft)

    def add(self, draft: CallDraft, fragment: str) -> None:
        self._tell(draft, draft.arguments.add(fragment))

    def state(self, draft: CallDraft, text: str) -> None:
        self._tell(draft, draft.arguments.state(text))

    def knows(self, name: str) -> bool:
        return clean_name(name, self._known) in self._known

    def settle(self, *, cut_off: bool) -> tuple[AssembledCall, ...]:
        """All whole calls, in the order of their slots. Raises `WireError` where one was cut off.

        `cut_off`: the provider stopped at its output limit, so a call without arguments had none yet.
        """
        calls: list[AssembledCall] = []
        for draft in self._shown:
            call = self._settle_one(draft, cut_off=cut_off)
            if call is None:
                self._emit(CallDropped(_slot(draft)))
            else:
                calls.append(call)
        return tuple(self._without_empty_twins(self._without_repeats(calls)))

    def _without_repeats(self, calls: list[AssembledCall]) -> list[AssembledCall]:
        """The same id, name and arguments announced twice: running it twice would repeat its effects."""
        heads = Counter((call.native_id, call.name) for call in calls if call.native_id)
        seen: set[tuple[str, str, str]] = set()
        kept = []
        for call in calls:
            # Only where a head came twice are arguments compared: they may be large.
            if heads[call.native_id, call.name] > 1:
                identity = call.native_id, call.name, canonical(call.arguments) or call.arguments
                if identity in seen:
                    self._emit(CallDropped(call.slot))
                    continue
                seen.add(identity)
            kept.append(call)
        return kept

    def _settle_one(self, draft: CallDraft, *, cut_off: bool) -> AssembledCall | None:
        if not draft.name and not cut_off:
            return None
        begun = draft.arguments.begun
        self._tell(draft, draft.arguments.finish())
        if not draft.arguments.complete or draft.half_written or (cut_off and not (begun and draft.name)):
            raise truncated()
        self._announce(draft, settled=True)
        text = draft.arguments.text if draft.arguments.text.strip() else "{}"
        return AssembledCall(_slot(draft), draft.native_id, draft.name, text, draft.echo or None)

    def _without_empty_twins(self, calls: list[AssembledCall]) -> list[AssembledCall]:
        """A head whose tail came under another index leaves a twin without arguments."""
        filled = {(call.native_id, call.name) for call in calls if call.native_id and call.arguments != "{}"}
        kept = []
        for call in calls:
            if call.arguments == "{}" and (call.native_id, call.name) in filled:
                self._emit(CallDropped(call.slot))
            else:
                kept.append(call)
        return kept

    def _show(self, draft: CallDraft) -> None:
        draft.slot = len(self._shown)
        self._shown.append(draft)
        self._emit(CallOpened(draft.slot))

    def _tell(self, draft: CallDraft, edits: list[Edit]) -> None:
        self._check_limit(draft)
        if not edits:
            return
        if draft.slot is None:
            self._show(draft)
        self._announce(draft)
        for edit in edits:
            kind = ArgumentsReplaced if edit.replaces else ArgumentsDelta
            self._emit(kind(_slot(draft), edit.text))

    def _announce(self, draft: CallDraft, *, settled: bool = False) -> None:
        """A name is told once it is whole: known, or its arguments have begun, or nothing more comes."""
        whole = settled or draft.arguments.begun or draft.name in self._known
        now = (draft.name or None) if whole else None, draft.native_id or None
        if now != draft.announced:
            draft.announced = now
            self._emit(CallIdentified(_slot(draft), *now))

    def _check_limit(self, draft: CallDraft) -> None:
        """The second lock behind the wire tap's; before a name is known the widest limit holds."""
        default = self._limits.default_argument_chars if draft.name else self._widest
        limit = self._argument_limits.get(draft.name, default)
        if draft.arguments.size > limit:
            raise ArgumentOverflow(draft.name, limit, draft.arguments.size)


def _slot(draft: CallDraft) -> int:
    assert draft.slot is not None, "only shown drafts are told of"
    return draft.slot
