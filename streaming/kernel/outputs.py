"""Folds the messages of one execution into its output, by bytes and by items. Pure; messages are hostile.

Nothing here waits, and nothing here knows of sockets. Whatever a message holds, folding it does not raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streaming.kernel.displays import Displays
from streaming.kernel.text import BoundedText, clean, cut_middle, without_ansi
from streaming.kernel.values import ErrorReport, Output
from streaming.limits import KernelLimits

NAME_CHARS = 200


class OutputFolder:
    """What one execution printed and showed so far. `on_text` gets each piece of output as it comes."""

    def __init__(
        self, limits: KernelLimits, new_id: Callable[[], str], on_text: Callable[[str], None]
    ) -> None:
        self._limits = limits
        self._on_text = on_text
        self._displays = Displays(limits, new_id)
        self._text = self._empty_text()
        self._error: ErrorReport | None = None
        self._clear_before_next = False
        self._folders = {
            "stream": self._fold_stream,
            "execute_result": self._fold_result,
            "display_data": self._fold_display,
            "update_display_data": self._fold_update,
            "clear_output": self._fold_clear,
            "error": self.fold_error,
        }

    def fold(self, kind: str, content: Mapping[str, Any]) -> None:
        folder = self._folders.get(kind)
        if folder is None:
            return
        if self._clear_before_next and kind in ("stream", "execute_result", "display_data"):
            self._clear()
        folder(content)

    def fold_error(self, content: Mapping[str, Any]) -> None:
        """The error of a reply or of an `error` message: the later one stands."""
        lines = content.get("traceback")
        traceback = "\n".join(str(line) for line in lines) if isinstance(lines, list) else ""
        budget = self._limits.error_bytes
        self._error = ErrorReport(
            name=_safe(content.get("ename"))[:NAME_CHARS] or "Error",
            message=cut_middle(_safe(content.get("evalue")), budget // 4),
            traceback=cut_middle(_safe(traceback), budget * 3 // 4),
        )

    def note(self, text: str) -> None:
        """Say something about this output beside it, such as that a part of it was lost."""
        self._displays.note(text)

    def output(self) -> Output:
        shown, artifacts = self._displays.finished()
        limit = self._limits.model_output_bytes
        return Output(
            text=self._text.whole(),
            model_text=self._text.shortened(limit),
            truncated=self._text.is_longer_than(limit),
            error=self._error,
            displays=shown,
            artifacts=artifacts,
        )

    def _fold_stream(self, content: Mapping[str, Any]) -> None:
        text = content.get("text")
        if isinstance(text, str):
            self._append(clean(text))

    def _fold_result(self, content: Mapping[str, Any]) -> None:
        data = _mapping(content.get("data"))
        self._displays.show(data, None)
        self._append_line(data.get("text/plain"))

    def _fold_display(self, content: Mapping[str, Any]) -> None:
        data = _mapping(content.get("data"))
        display_id = _display_id(content)
        if not self._displays.show(data, display_id):
            self._append_line(data.get("text/plain"))

    def _fold_update(self, content: Mapping[str, Any]) -> None:
        display_id = _display_id(content)
        if display_id is not None:
            self._displays.update(_mapping(content.get("data")), display_id)

    def _fold_clear(self, content: Mapping[str, Any]) -> None:
        if content.get("wait") is True:
            self._clear_before_next = True
        else:
            self._clear()

    def _clear(self) -> None:
        self._clear_before_next = False
        self._text = self._empty_text()
        self._displays.clear()

    def _append_line(self, value: Any) -> None:
        if isinstance(value, str):
            start = "" if self._text.ends_line else "\n"
            self._append(f"{start}{clean(value)}\n")

    def _append(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._on_text(text)

    def _empty_text(self) -> BoundedText:
        limits = self._limits
        tail_bytes = min(limits.model_output_bytes, limits.history_output_bytes // 2)
        return BoundedText(limits.history_output_bytes, tail_bytes)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _display_id(content: Mapping[str, Any]) -> str | None:
    value = _mapping(content.get("transient")).get("display_id")
    return value if isinstance(value, str) and len(value) <= NAME_CHARS else None


def _safe(value: Any) -> str:
    return without_ansi(clean(value)) if isinstance(value, str) else ""
