"""The demo model: scripted, and says so. It needs no key and no network, and speaks both protocols.

`python -m streaming.providers.demo --port N` serves it alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from streaming.providers.demo_code import has_own_code, program_for
from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Part, Say

# About 2,000 characters of code in 2 to 3 seconds: slow enough to watch it being written.
PACE_SECONDS = 0.02
CODE_FRAGMENT_CHARS = 18
TEXT_FRAGMENT_CHARS = 8
_SHOWN_RESULT_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the request ends in: a task, or the result of the call that the demo made for one."""

    text: str
    is_result: bool
    has_python: bool


class DemoModel:
    """A script for `ScriptedProvider`; `pace_seconds` is waited after each fragment (0 in tests)."""

    def __init__(self, pace_seconds: float = PACE_SECONDS) -> None:
        self._pace_seconds = pace_seconds

    async def __call__(self, request: ScriptedRequest, out: Out) -> None:
        asked = _read(request.body)
        parts = _answer_to_result(asked.text) if asked.is_result else _answer_to_task(asked, request.raw)
        tokens = (max(1, len(request.raw) // 4), sum(len(part.text) for part in parts) // 4 + 1)
        await Reply(*parts, usage=tokens, pace_seconds=self._pace_seconds)(request, out)


demo_script = DemoModel()


def _answer_to_task(asked: _Asked, raw: bytes) -> list[Part]:
    if not asked.has_python:
        return [
            _say("I am the scripted demo model, not a real one. Without the python tool I can only say so.")
        ]
    what = "the code from your message" if has_own_code(asked.text) else "a small program about your request"
    said = _say(
        "I am the scripted demo model: no real model is configured, so I follow a script. "
        f"I now write {what} and run it."
    )
    # The whole request is part of it, so that a second task of a session gets another id.
    call_id = f"call_demo_{sha256(raw).hexdigest()[:16]}"
    arguments = {"code": program_for(asked.text)}
    return [said, Call("python", json.dumps(arguments, ensure_ascii=False), call_id, CODE_FRAGMENT_CHARS)]


def _answer_to_result(result: str) -> list[Part]:
    status, output, displays = _result_parts(result)
    if status == "ok":
        lines = ["The code ran. It printed:" if output else "The code ran and printed nothing."]
    else:
        lines = [f"The code ended with status `{status}`." + (" It said:" if output else "")]
    if output:
        lines.append(f"\n```\n{output[:_SHOWN_RESULT_CHARS]}\n```")
    if displays:
        lines.append(f"\nIt also displayed {displays} object{'s' if displays > 1 else ''}.")
    lines.append("\n(This is the scripted demo model; configure a provider to talk to a real one.)")
    return [_say("\n".join(lines))]


def _say(text: str) -> Say:
    return Say(text, TEXT_FRAGMENT_CHARS)


def _result_parts(result: str) -> tuple[str, str, int]:
    """(status, what it printed or its error, number of displays) of a result; plain text counts as ok."""
    try:
        value = json.loads(result)
    except ValueError:
        return "ok", result.strip(), 0
    if not isinstance(value, Mapping):
        return "ok", result.strip(), 0
    error = value.get("error")
    shown = [str(value.get("output") or "").strip()]
    if isinstance(error, Mapping):
        shown.append(f"{error.get('name', 'error')}: {error.get('message', '')}".strip())
    elif error:
        shown.append(str(error))
    displays = value.get("displays")
    text = "\n".join(part for part in shown if part)
    return str(value.get("status", "ok")), text, len(displays) if isinstance(displays, list) else 0


def _read(body: Any) -> _Asked:
    """The end of the conversation, in either protocol. A body that is no request is an empty task."""
    if not isinstance(body, Mapping):
        return _Asked("", False, False)
    items = body.get("input") or body.get("messages") or []
    last = items[-1] if isinstance(items, list) and items else {"role": "user", "content": items}
    python = "python" in _tool_names(body)
    if not isinstance(last, Mapping):
        return _Asked("", False, python)
    if last.get("type") == "function_call_output":
        return _Asked(_text(last.get("output")), True, python)
    return _Asked(_text(last.get("content")), last.get("role") == "tool", python)


def _tool_names(body: Mapping[str, Any]) -> set[str]:
    tools = body.get("tools")
    found = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return {str((tool.get("function") or tool).get("name", "")) for tool in found}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))


async def _serve(port: int, pace_seconds: float) -> None:
    provider = await ScriptedProvider(DemoModel(pace_seconds), keep=0).start(port=port)
    print(provider.base_url, flush=True)  # noqa: T201
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the scripted demo model.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pace", type=float, default=PACE_SECONDS, help="seconds after each fragment")
    options = parser.parse_args()
    asyncio.run(_serve(options.port, options.pace))


if __name__ == "__main__":
    main()
