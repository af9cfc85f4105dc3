"""One call that is being written or runs: what is known of it, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NotRequired, TypedDict

from streaming.limits import ProgressLimits
from streaming.progress.preview import Preview
from streaming.progress.scalars import first_bytes, heal, join_halves, utf8_length
from streaming.progress.sizes import shallow_size


class ShownPreview(TypedDict):
    offset_scalars: int
    text: str


class ToolProgress(TypedDict):
    """The live object of contract section 6."""

    call_id: str
    tool_call_id: str | None
    name: str
    phase: Literal["generating", "running"]
    arguments_chars: int
    started_at: str
    preview: NotRequired[ShownPreview]


# What stands around a live object in an event, with the longest sequence and the widest separators.
_ENVELOPE_BYTES: Final = len(
    json.dumps({"type": "tool_progress", "sequence": 2**63, "data": {"progress": None}})
)

# The same with the keys, the quotes and two numbers of a live object.
_AROUND_TEXTS_BYTES: Final = _ENVELOPE_BYTES + 256


class TrackedCall:
    """Hidden until its name is known. Which preview will be its own depends on the name, so before that
    all that are still possible read along.

    Name and id are kept as UTF-8: a str of 200 bytes of it can take 900, as one wide character widens all.
    """

    __slots__ = (
        "_half",
        "_id",
        "_name",
        "_others",
        "_preview",
        "arguments_chars",
        "has_own_id",
        "running",
        "started_at",
    )

    def __init__(self, started_at: str) -> None:
        self.started_at = started_at
        self.running = False
        # The id is our choice: what the provider still says of it does not count.
        self.has_own_id = False
        self.arguments_chars = 0
        self._half = ""
        self._name = b""
        self._id = b""
        self._preview: Preview | None = None
        self._others: tuple[Preview, ...] = ()

    @property
    def is_named(self) -> bool:
        return bool(self._name)

    @property
    def previews(self) -> Iterator[Preview]:
        if self._preview is not None:
            yield self._preview
        yield from self._others

    @property
    def preview_count(self) -> int:
        return (self._preview is not None) + len(self._others)

    def set_name(self, name: str, limits: ProgressLimits) -> bool:
        """Whether that changes what is shown. Cut on a character where it is too long."""
        before, self._name = self._name, first_bytes(heal(name), limits.name_bytes).encode()
        return before != self._name

    def set_tool_call_id(self, tool_call_id: str | None, limits: ProgressLimits) -> bool:
        """Whether that changes what is shown. Never cut: an id too long is none, and so is an empty one."""
        raw = heal(tool_call_id or "").encode()
        before, self._id = self._id, raw if len(raw) <= limits.tool_call_id_bytes else b""
        return before != self._id

    def choose_previews(self, own: str | None, possible: Iterable[str], limits: ProgressLimits) -> None:
        """`own` is the preview argument that the name stands for, `possible` those that it may grow into.

        One that comes into question only after arguments have passed can no longer be read.
        """
        known = {preview.key: preview for preview in self.previews}
        if not self.arguments_chars:
            known = {key: known.get(key) or Preview(key, limits) for key in possible}
        self._preview = None if own is None else known.get(own)
        wanted = set(possible)
        self._others = tuple(known[key] for key in known if key in wanted and key != own)

    def feed(self, fragment: str) -> None:
        """The next raw fragment. A pair of surrogates counts as one character, also where it comes halved."""
        scalars, half = join_halves(self._half, fragment)
        self.arguments_chars += len(scalars) + len(half) - len(self._half)
        self._half = half
        for preview in self.previews:
            preview.feed(fragment)

    def restart(self, text: str, limits: ProgressLimits) -> None:
        """What was read is void: the raw text so far is `text`."""
        self.arguments_chars = 0
        self._half = ""
        self._preview = self._preview and Preview(self._preview.key, limits)
        self._others = tuple(Preview(preview.key, limits) for preview in self._others)
        self.feed(text)

    def run(
        self, own: str | None, arguments_chars: int, arguments: str | None, limits: ProgressLimits
    ) -> None:
        """The call runs from now on, with the preview that it has, or with one of the `arguments` given."""
        self.arguments_chars = arguments_chars
        if arguments is not None:
            self.restart("", limits)
        self.choose_previews(own, [own] if own else [], limits)
        self.feed(arguments or "")
        self.arguments_chars = arguments_chars
        self.running = True

    def rest(self) -> None:
        """Nothing comes for this call at the moment."""
        for preview in self.previews:
            preview.rest()

    def largest_window(self) -> int:
        """Bytes of memory of the longest preview text."""
        return max((preview.stored_bytes() for preview in self.previews), default=0)

    def shorten(self, scalars: int) -> bool:
        """Takes `scalars` from the left of the longest preview text; whether there was any."""
        longest = max(self.previews, key=lambda preview: preview.stored_bytes(), default=None)
        if longest is None or not longest.stored_bytes():
            return False
        longest.shorten(scalars)
        return True

    def size(self) -> int:
        """Bytes of memory, what is shared left out."""
        own = (self, self.arguments_chars, self._half, self._name, self._id, self.started_at, self._others)
        return shallow_size(*own) + sum(preview.size() for preview in self.previews)

    def show(self, call_id: str, limits: ProgressLimits) -> ToolProgress:
        """The live object, whose event fits its bound: the preview yields what does not, from the left."""
        shown: ToolProgress = {
            "call_id": call_id,
            "tool_call_id": self._id.decode() or None,
            "name": self._name.decode(),
            "phase": "running" if self.running else "generating",
            "arguments_chars": self.arguments_chars,
            "started_at": self.started_at,
        }
        if self._preview is not None and not self._preview.dropped:
            text = self._preview.text
            shown["preview"] = {"offset_scalars": self._preview.offset_scalars, "text": text}
            _fit_event(shown, shown["preview"], limits.event_bytes)
        return shown


def _fit_event(shown: ToolProgress, preview: ShownPreview, limit_bytes: int) -> None:
    texts = (
        shown["call_id"],
        shown["tool_call_id"] or "",
        shown["name"],
        shown["started_at"],
        preview["text"],
    )
    # A byte of UTF-8 takes at most six escaped. That settles nearly all at a glance.
    if _AROUND_TEXTS_BYTES + 6 * sum(map(utf8_length, texts)) <= limit_bytes:
        return
    excess = _ENVELOPE_BYTES + len(json.dumps(shown)) - limit_bytes
    # The offset may grow by as many digits as it gets when all is cut.
    excess += len(str(len(preview["text"])))
    cut = 0
    while excess > 0 and cut < len(preview["text"]):
        excess -= len(json.dumps(preview["text"][cut])) - len('""')
        cut += 1
    preview["offset_scalars"] += cut
    preview["text"] = preview["text"][cut:]
