"""A harmless `python`: it runs nothing, and writes down in the workspace each call that was started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streaming.providers.types import ToolSpec
from streaming.tools.base import ToolContext, ToolResult, text_result

FILE = "started.jsonl"


class RecorderTool:
    spec = ToolSpec(
        name="python",
        description="Write a call down.",
        parameters={"type": "object", "properties": {"code": {"type": "string"}}},
        max_argument_chars=16 * 1024 * 1024,
        preview_argument="code",
    )

    async def call(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        with (context.workspace / FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(arguments) + "\n")
        return text_result("recorded")


def recorded(workspace: str) -> list[dict[str, Any]]:
    """The arguments of every call that was started, in order."""
    file = Path(workspace) / FILE
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
