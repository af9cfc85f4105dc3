"""Which call does an entry of `tool_calls` belong to?

The protocol says: the one of its `index`. Servers leave the index out, send 0 for every call, let it
drift, change ids in mid-call and repeat heads. So all that an entry says is weighed: a known id is
strongest, then the index, then what the call that is being written still lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streaming.providers.argument_text import same_arguments
from streaming.providers.call_drafts import CallDraft, CallDrafts
from streaming.providers.chat_completions_fragments import CallFragment


class CallRouter:
    """Routes fragments to drafts, opens drafts for new calls."""

    def __init__(self, drafts: CallDrafts, keep_echo: Callable[[Any], Any]) -> None:
        self._drafts = drafts
        self._keep_echo = keep_echo
        self._order: list[CallDraft] = []
        self._by_index: dict[tuple[int, int], CallDraft] = {}
        self._by_id: dict[str, CallDraft] = {}
        self._last: CallDraft | None = None
        self._named_now: list[CallDraft] = []

    def route(self, choice: int, fragments: list[CallFragment], *, restated: bool = False) -> None:
        """The entries of one delta. `restated`: they are a closing message, which tells all calls again."""
        self._named_now.clear()
        for position, fragment in enumerate(fragments):
            at = None if fragment.at_index is None else self._by_index.get((choice, fragment.at_index))
            if at is None and fragment.at_index is None and len(fragments) > 1 and not fragment.name:
                at = self._at_position(position)
            if restated:
                at = self._already_told(fragment) or at
            draft = self._target(fragment, at)
            if draft is not None:
                self._remember(choice, fragment, draft)
                self._apply(fragment, draft)

    def _target(self, fragment: CallFragment, at: CallDraft | None) -> CallDraft | None:
        known = self._by_id.get(fragment.native_id) if fragment.native_id else None
        if known is not None:
            return self._with_known_id(fragment, known, at)
        if fragment.native_id and fragment.name:
            return self._with_new_id_and_name(fragment, at)
        if fragment.native_id:
            return self._with_new_id(fragment, at)
        if fragment.name:
            return self._with_name(fragment, at)
        return self._bare(fragment, at)

    def _with_known_id(self, fragment: CallFragment, known: CallDraft, at: CallDraft | None) -> CallDraft:
        same_place = at is not None and at.native_id == fragment.native_id
        draft = at if at is not None and same_place else known
        if not fragment.name:
            return draft
        if draft.arguments.closed:
            return self._after_closed(fragment, draft)
        if same_place or fragment.at_index is None:
            return draft
        # One id at two indexes: two heads open two calls, while a tail that drifted goes on where it was.
        return draft if draft.arguments.begun and not fragment.starts_value else self._open()

    def _with_new_id_and_name(self, fragment: CallFragment, at: CallDraft | None) -> CallDraft:
        draft = at if fragment.at_index is not None else self._waiting_for_id(fragment)
        if draft is None:
            return self._open()
        if not draft.raw_name and not draft.native_id and not fragment.starts_value:
            # Its arguments came first; here is the rest of it.
            return draft
        if not draft.native_id and self._same_name(draft, fragment):
            return self._after_closed(fragment, draft) if draft.arguments.closed else draft
        half = draft.arguments.begun and not draft.arguments.closed
        if half and fragment.text and not fragment.starts_value and self._same_name(draft, fragment):
            # A server that makes up an id for each delta.
            return draft
        return self._open()

    def _with_new_id(self, fragment: CallFragment, at: CallDraft | None) -> CallDraft:
        """Without a name it opens a call only where nothing is left to continue."""
        if at is not None:
            return at
        last = self._last
        if last is None or (fragment.at_index is None and last.arguments.closed and not fragment.text):
            return self._open()
        if fragment.at_index is None:
            return last
        unfinished = last.arguments.begun and not last.arguments.closed
        return last if unfinished and fragment.text else self._open()

    def _with_name(self, fragment: CallFragment, at: CallDraft | None) -> CallDraft:
        draft = at
        if fragment.at_index is None and at is None and self._last not in self._named_now:
            draft = self._last
        if draft is None:
            return self._open()
        if not draft.raw_name:
            return draft
        if draft.arguments.closed:
            return self._after_closed(fragment, draft)
        two_tools = self._drafts.knows(draft.raw_name) and self._drafts.knows(fragment.name)
        return self._open() if two_tools and not self._same_name(draft, fragment) else draft

    def _bare(self, fragment: CallFragment, at: CallDraft | None) -> CallDraft | None:
        if at is not None or not fragment.text:
            return at
        last = self._last
        if last is not None and (fragment.at_index is None or not last.arguments.closed):
            return last
        return self._open()

    def _after_closed(self, fragment: CallFragment, draft: CallDraft) -> CallDraft:
        """A named entry for a call that is complete: told again, or the head of another call."""
        if not fragment.text.strip():
            # A head that repeats itself looks just like that; only arguments will tell.
            return self._open(suspected=True)
        if self._same_name(draft, fragment) and same_arguments(draft.arguments.text, fragment.text):
            return draft
        return self._open()

    def _waiting_for_id(self, fragment: CallFragment) -> CallDraft | None:
        last = self._last
        if last is None or last.native_id or last in self._named_now or last.arguments.closed:
            return None
        return last if not (last.arguments.begun and fragment.starts_value) else None

    def _already_told(self, fragment: CallFragment) -> CallDraft | None:
        return next(
            (
                draft
                for draft in self._order
                if not fragment.native_id
                and self._same_name(draft, fragment)
                and same_arguments(draft.arguments.text, fragment.text)
            ),
            None,
        )

    def _at_position(self, position: int) -> CallDraft | None:
        return self._order[position] if position < len(self._order) else None

    def _same_name(self, draft: CallDraft, fragment: CallFragment) -> bool:
        return draft.raw_name.strip() in ("", fragment.name.strip())

    def _open(self, *, suspected: bool = False) -> CallDraft:
        draft = self._drafts.open(suspected=suspected)
        self._order.append(draft)
        return draft

    def _remember(self, choice: int, fragment: CallFragment, draft: CallDraft) -> None:
        if fragment.at_index is not None:
            self._by_index[choice, fragment.at_index] = draft
        if fragment.native_id:
            self._by_id[fragment.native_id] = draft
        if fragment.name:
            self._named_now.append(draft)
        self._last = draft

    def _apply(self, fragment: CallFragment, draft: CallDraft) -> None:
        self._drafts.identify(draft, name=fragment.name, native_id=fragment.native_id)
        for name, value in fragment.echo.items():
            if draft.echo.get(name) != value:
                draft.echo[name] = self._keep_echo(value)
        if fragment.whole:
            self._drafts.state(draft, fragment.text)
        elif fragment.text:
            self._drafts.add(draft, fragment.text)
