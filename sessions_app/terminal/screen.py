"""What stands in the terminal: what lasts is printed once, what lives is drawn over until it lasts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from sessions_app.terminal.view import Applied, Tail, View

PREVIEW_LINES = 14
OUTPUT_LINES = 12
RESULT_LINES = 40
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Everything that could move a cursor, ring a bell, or turn the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` with nothing in it that acts on a terminal: each control character becomes a mark."""
    plain = _COLOURS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROLS.sub(lambda match: f"<U+{ord(match.group()):04X}>", plain)


def last_lines(text: str, count: int) -> str:
    return "\n".join(visible(text).split("\n")[-count:])


class Screen:
    """`quiet` prints nothing of what lives: for output that is not a terminal."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._live: Live | None = None

    def __enter__(self) -> Screen:
        if not self._quiet:
            self._live = Live(console=self._console, refresh_per_second=10, transient=True)
            self._live.start()
        return self

    def __exit__(self, *details: object) -> None:
        if self._live is not None:
            self._live.update("")
            self._live.stop()
            self._live = None

    def show(self, view: View, applied: Applied) -> None:
        """Print what `applied` brought to an end, and draw what still lives."""
        if self._quiet:
            return
        for entry in applied.entries:
            for part in entry_parts(entry):
                self._console.print(part)
        for words in applied.told:
            self._console.print(Text(visible(words), "yellow"))
        if self._live is not None:
            self._live.update(living(view))

    def tell(self, words: str) -> None:
        if not self._quiet:
            self._console.print(Text(visible(words), "yellow"))


def living(view: View) -> RenderableType:
    """The provisional message, the calls being written or run, and a line of state."""
    parts: list[RenderableType] = []
    thinking, text = view.tails["thinking"].text, view.tails["text"].text
    if thinking and not text:
        parts.append(Text(last_lines(thinking, 4), "dim italic"))
    if text:
        parts.append(Text(last_lines(text, PREVIEW_LINES)))
    parts += [_call_panel(progress, view.output.get(call_id)) for call_id, progress in view.progress.items()]
    if view.status["phase"] != "idle":
        word = (
            "stopping" if view.status.get("interrupt_requested") else view.status["phase"].replace("_", " ")
        )
        parts.append(Text(f"… {word}", "dim"))
    return Group(*parts)


def _call_panel(progress: Mapping[str, Any], output: Tail | None) -> Panel:
    title = f"{progress['name']} · {progress['phase']} · {progress['arguments_chars']:,} characters"
    inside: list[RenderableType] = []
    preview = progress.get("preview")
    if preview and output is None:
        inside.append(
            Syntax(last_lines(preview["text"], PREVIEW_LINES), "python", background_color="default")
        )
    if output is not None:
        inside.append(Text(last_lines(output.text, OUTPUT_LINES)))
    return Panel(Group(*inside), title=Text(visible(title)), title_align="left", border_style="cyan")


def entry_parts(entry: Mapping[str, Any]) -> list[RenderableType]:
    """A completed entry as it stays on the screen."""
    kind, text = entry["kind"], entry_text(entry)
    if kind == "user":
        return [Text(f"› {visible(text)}", "bold")]
    if kind == "thinking":
        return [Text(last_lines(text, 6), "dim italic")]
    if kind == "tool_call":
        return [_called(entry)]
    if kind == "tool_result":
        return [_result_panel(entry)]
    return [Text(visible(text), "yellow" if kind == "note" else "")]


def entry_text(entry: Mapping[str, Any]) -> str:
    """The text of an entry that is inline; of what is not, its size."""
    parts = []
    for part in entry["content"]:
        if part["kind"] == "text":
            parts.append(part["text"])
        elif part["kind"] == "reference":
            parts.append(f"({part['reference']['bytes']:,} bytes, not shown here)")
        elif part["kind"] == "image":
            parts.append("(an image)")
    return "\n".join(parts)


def _called(entry: Mapping[str, Any]) -> RenderableType:
    value = next((part["value"] for part in entry["content"] if part["kind"] == "json"), None)
    code = value.get("code") if isinstance(value, dict) else None
    if isinstance(code, str):
        return Syntax(visible(code), "python", background_color="default", word_wrap=True)
    shown = entry_text(entry) if value is None else json.dumps(value, ensure_ascii=False)
    return Text(visible(f"{entry['tool']['name']} {shown}"))


def _result_panel(entry: Mapping[str, Any]) -> Panel:
    tool = entry["tool"]
    value = next((part["value"] for part in entry["content"] if part["kind"] == "json"), None)
    text = entry_text(entry) if value is None else result_text(str(value))
    lines = visible(text).rstrip().split("\n")
    hidden = len(lines) - RESULT_LINES
    if hidden > 0:
        lines = [f"({hidden} lines before)", *lines[-RESULT_LINES:]]
    duration = tool.get("duration_ms")
    seconds = "" if duration is None else f" · {duration / 1_000:.1f} s"
    title = Text(visible(f"{tool['name']} · {tool['status']}{seconds}"))
    style = "green" if tool["status"] == "ok" else "red"
    return Panel(Text("\n".join(lines)), title=title, title_align="left", border_style=style)


def result_text(value: str) -> str:
    """Output, error and displays of a result as people read them; any other text as it is."""
    try:
        result = json.loads(value)
        parts = [result["output"]]
        if result.get("error"):
            parts.append(
                result["error"].get("traceback") or f"{result['error']['name']}: {result['error']['message']}"
            )
        parts += [
            f"[{item.get('kind', 'display')}: {item.get('mime_type', '')}]" for item in result["displays"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return value
    return "\n".join(str(part).rstrip("\n") for part in parts if part) or "(no output)"
