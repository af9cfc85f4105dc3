"""A tool of the tests' own, and a context for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from streaming.limits import KernelLimits
from streaming.providers.types import ToolSpec
from streaming.tools.base import ToolContext, ToolResult


class Echo:
    """Gives back its text; raises what it was made with."""

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error
        self.spec = ToolSpec(
            "echo",
            "Says it again.",
            {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        )

    async def call(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        if self._error is not None:
            raise self._error
        return ToolResult("ok", arguments["text"])


READY = Echo()


def context_of(workspace: Path, kernel: SessionKernel | None = None) -> ToolContext:
    """Without a kernel given, one whose pool was never started."""
    unstarted = SessionKernel(KernelPool(KernelLimits(), os.environ), workspace)
    return ToolContext("session", workspace, "call", lambda text: None, asyncio.Event(), kernel or unstarted)
