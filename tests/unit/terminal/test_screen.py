"""What is drawn: bounded, and nothing of it acts on the terminal."""

from __future__ import annotations

import io
import json
from typing import Any

from rich.console import Console, RenderableType

from sessions_app.terminal.screen import (
    RESULT_LINES,
    Screen,
    entry_parts,
    entry_text,
    last_lines,
    living,
    result_text,
    visible,
)
from sessions_app.terminal.view import Applied, Tail, View

HOSTILE = "\x1b]52;c;AAAA\x07\x1b[2Jx\u202ey\x9b1m[bold red]z"


def drawn(*parts: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    console.print(*parts)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def result(value: str, **tool: Any) -> dict[str, Any]:
    facts = {"name": "python", "status": "ok", "duration_ms": 1500, **tool}
    return {
        "kind": "tool_result",
        "content": [{"kind": "json", "field": "result", "value": value}],
        "tool": facts,
    }


def test_no_control_reaches_the_terminal_by_any_way() -> None:
    text = {"kind": "text", "text": HOSTILE}
    tool = {"name": HOSTILE, "status": HOSTILE, "duration_ms": 1}
    call = {"kind": "json", "field": "arguments", "value": {"code": HOSTILE}}
    odd_call = {"kind": "json", "field": "arguments", "value": HOSTILE}
    entries: list[dict[str, Any]] = [
        {"kind": kind, "content": [text]} for kind in ("user", "assistant", "thinking", "note")
    ]
    entries += [{"kind": "tool_call", "content": [part], "tool": tool} for part in (call, odd_call)]
    entries.append(result(HOSTILE, **tool))
    view = View()
    view.tails = {"text": Tail(0, HOSTILE), "thinking": Tail(0, HOSTILE)}
    progress = {"name": HOSTILE, "phase": "running", "arguments_chars": 1, "preview": {"text": HOSTILE}}
    view.progress = {"a": progress, "b": progress}
    view.output = {"a": Tail(0, HOSTILE)}
    for part in [part for entry in entries for part in entry_parts(entry)] + [living(view)]:
        shown = drawn(part)
        assert not {"\x07", "\x9b", "\u202e"} & set(shown)
        assert "\x1b]" not in shown
        assert "\x1b[2J" not in shown
        assert "[bold red]z" in shown


def test_colours_are_dropped_and_other_controls_become_marks() -> None:
    assert visible("\x1b[31mred\x1b[0m\a\r\nnext\rlast\ttab") == "red<U+0007>\nnext\nlast\ttab"


def test_long_output_is_shown_by_its_end_with_the_count_of_the_rest() -> None:
    text = "\n".join(str(number) for number in range(100))
    shown = drawn(*entry_parts(result(json.dumps({"output": text, "displays": []}))))
    assert f"({100 - RESULT_LINES} lines before)" in shown
    assert "99" in shown
    assert "python · ok · 1.5 s" in shown


def test_a_result_is_output_error_and_displays() -> None:
    value = {
        "output": "one\n",
        "error": {"name": "E", "message": "m", "traceback": "T"},
        "displays": [{"kind": "image", "mime_type": "image/png"}],
    }
    assert result_text(json.dumps(value)) == "one\nT\n[image: image/png]"
    assert result_text(json.dumps({"output": "", "displays": []})) == "(no output)"
    assert result_text("plain words") == "plain words"
    assert result_text("[1]") == "[1]"


def test_what_is_not_inline_is_named_with_its_size() -> None:
    entry = {"content": [{"kind": "reference", "reference": {"bytes": 123456}}, {"kind": "image"}]}
    assert entry_text(entry) == "(123,456 bytes, not shown here)\n(an image)"


def test_only_the_last_lines_of_what_lives_are_drawn() -> None:
    assert last_lines("a\nb\nc", 2) == "b\nc"


def test_a_quiet_screen_prints_nothing() -> None:
    file = io.StringIO()
    entry = {"kind": "assistant", "content": [{"kind": "text", "text": "hello"}]}
    with Screen(Console(file=file), quiet=True) as screen:
        screen.show(View(), Applied(entries=[entry], told=["note"]))
        screen.tell("words")
    assert file.getvalue() == ""


def test_a_screen_keeps_what_lasts_and_drops_what_lived() -> None:
    file = io.StringIO()
    entry = {"kind": "assistant", "content": [{"kind": "text", "text": "hello"}]}
    view = View()
    view.tails = {"text": Tail(0, "provisional"), "thinking": Tail()}
    with Screen(Console(file=file, force_terminal=False), quiet=False) as screen:
        screen.show(view, Applied(entries=[entry], told=["noted"]))
    assert "hello" in file.getvalue()
    assert "noted" in file.getvalue()
    assert "provisional" not in file.getvalue()
