"""Images, HTML and updatable text that an execution displays, bounded in number and bytes. Pure."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streaming.kernel.images import image_size
from streaming.kernel.text import clean, cut_middle
from streaming.kernel.values import ArtifactData, Display
from streaming.limits import KernelLimits

# The richest form of a display that can be shown safely, first found first taken.
EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "text/html": "html",
}
TEXT_FORMS = ("image/svg+xml", "text/html")
CAPTION_BYTES = 2_048
# One picture may be as large as an artifact may be; all of one call together, this many times that.
CALL_ARTIFACTS = 4


@dataclass(slots=True)
class Shown:
    display: Display
    artifact: ArtifactData | None = None
    display_id: str | None = None


class Displays:
    """What is on show. A display with an id can be replaced; the rest only grows, up to the limit."""

    def __init__(self, limits: KernelLimits, new_id: Callable[[], str]) -> None:
        self._limits = limits
        self._new_id = new_id
        self._shown: list[Shown] = []
        self._notes: list[str] = []
        self._omitted = 0
        self._made = 0

    def show(self, data: Mapping[str, Any], display_id: str | None) -> bool:
        """Take a display over; False where it has no form but text that cannot change: that is output."""
        mime_type = next((mime for mime in EXTENSIONS if isinstance(data.get(mime), str)), None)
        if mime_type is None and display_id is None:
            return False
        if len(self._shown) >= self._limits.displays:
            self._omitted += 1
            return True
        self._shown.append(self._made_from(data, mime_type, display_id))
        return True

    def update(self, data: Mapping[str, Any], display_id: str) -> None:
        for index, shown in enumerate(self._shown):
            if shown.display_id == display_id:
                mime_type = next((mime for mime in EXTENSIONS if isinstance(data.get(mime), str)), None)
                # Its own bytes are given back before the new ones are weighed.
                self._shown[index] = Shown(shown.display, None, display_id)
                self._shown[index] = self._made_from(data, mime_type, display_id)

    def note(self, text: str) -> None:
        self._notes.append(text)

    def clear(self) -> None:
        self._shown.clear()
        self._omitted = 0

    def finished(self) -> tuple[tuple[Display, ...], tuple[ArtifactData, ...]]:
        notes = list(self._notes)
        if self._omitted:
            notes.append(f"{self._omitted} more displays left out")
        displays = [shown.display for shown in self._shown]
        displays += [Display("text", "text/plain", text=note) for note in notes]
        artifacts = [shown.artifact for shown in self._shown if shown.artifact is not None]
        return tuple(displays), tuple(artifacts)

    def _made_from(self, data: Mapping[str, Any], mime_type: str | None, display_id: str | None) -> Shown:
        caption = _caption(data)
        if mime_type is None:
            return Shown(Display("text", "text/plain", text=caption or ""), None, display_id)
        kind: Any = "html" if mime_type == "text/html" else "image"
        made = self._artifact(mime_type, data[mime_type])
        if isinstance(made, str):
            return Shown(Display(kind, mime_type, text=f"left out: {made}"), None, display_id)
        return Shown(Display(kind, mime_type, made.id, caption), made, display_id)

    def _artifact(self, mime_type: str, value: str) -> ArtifactData | str:
        """The artifact, or in words why there is none."""
        size = len(value) if mime_type in TEXT_FORMS else len(value) * 3 // 4
        if size > self._limits.artifact_bytes + 2:
            return f"{size} bytes is over the limit of {self._limits.artifact_bytes}"
        data = clean(value).encode() if mime_type in TEXT_FORMS else _decoded(value)
        if data is None or len(data) > self._limits.artifact_bytes:
            return "not a readable image" if data is None else "over the limit of one artifact"
        if self._kept_bytes() + len(data) > CALL_ARTIFACTS * self._limits.artifact_bytes:
            return "over the limit of what one call may keep"
        return self._named(mime_type, data)

    def _named(self, mime_type: str, data: bytes) -> ArtifactData | str:
        pixels = None if mime_type in TEXT_FORMS else image_size(mime_type, data)
        if pixels is None and mime_type not in TEXT_FORMS:
            return f"its bytes are not {mime_type}"
        self._made += 1
        width, height = pixels or (None, None)
        name = f"display-{self._made}.{EXTENSIONS[mime_type]}"
        return ArtifactData(self._new_id(), mime_type, data, name, width, height)

    def _kept_bytes(self) -> int:
        return sum(len(shown.artifact.data) for shown in self._shown if shown.artifact is not None)


def _decoded(value: str) -> bytes | None:
    try:
        return binascii.a2b_base64(value.encode("ascii"))
    except ValueError:
        return None


def _caption(data: Mapping[str, Any]) -> str | None:
    text = data.get("text/plain")
    return cut_middle(clean(text), CAPTION_BYTES) if isinstance(text, str) else None
