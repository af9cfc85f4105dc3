"""What a tool is: a declaration and one coroutine. Must not know of storage, actors or provider wires."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from streaming.kernel.session_kernel import SessionKernel
from streaming.kernel.text import clean, cut_middle
from streaming.kernel.values import ArtifactData, KernelState, Status
from streaming.limits import KernelLimits
from streaming.providers.types import ToolSpec

__all__ = [
    "ArtifactData",
    "SessionKernel",
    "Tool",
    "ToolContext",
    "ToolResult",
    "error_result",
    "text_result",
]

ERROR_CHARS = 2_000
KERNEL_LIMITS = KernelLimits()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call's end. `text` is exactly what the model gets.

    `output` is all that was printed and is kept, None where `text` has all of it. `kernel` is None
    where no kernel was touched; `state_lost` says that earlier calls' variables are gone.
    `interrupted_at` is when a stop or a timeout had taken effect.
    """

    status: Status
    text: str
    output: str | None = None
    artifacts: tuple[ArtifactData, ...] = ()
    kernel: KernelState | None = None
    state_lost: bool = False
    interrupted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call may use. `interrupted` is this call's own: set, at any time, it stops the call.

    `on_output` takes live text and must not block.
    """

    session_id: str
    workspace: Path
    call_id: str
    on_output: Callable[[str], None]
    interrupted: asyncio.Event
    kernel: SessionKernel


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run once, with arguments that passed the schema. What it raises becomes an error result."""
        ...


def error_result(message: str) -> ToolResult:
    """An error in words, for the model: at most `ERROR_CHARS` of them."""
    text = message if len(message) <= ERROR_CHARS else message[:ERROR_CHARS] + " ..."
    return ToolResult("error", f"error: {text}")


def text_result(text: str, status: Status = "ok", *, limits: KernelLimits = KERNEL_LIMITS) -> ToolResult:
    """What the model gets of `text`, bounded as the output of code is; history keeps what is cut from it."""
    kept = cut_middle(clean(text), limits.history_output_bytes)
    shown = cut_middle(kept, limits.model_output_bytes)
    return ToolResult(status, shown, output=kept if shown is not kept else None)
