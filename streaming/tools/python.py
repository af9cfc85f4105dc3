"""The tool `python`: code in the session's kernel, its end told as JSON (contract section 7)."""

from __future__ import annotations

import json
from typing import Any, Self

from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.values import Display, ErrorReport, Outcome, Output
from streaming.limits import KernelLimits, Limits, WireLimits
from streaming.providers.types import ToolSpec
from streaming.tools.base import ToolContext, ToolResult

KERNEL_LIMITS = KernelLimits()
WIRE_LIMITS = WireLimits()
DESCRIPTION = (
    "Run Python code in this session's own kernel. Variables, imports and functions stay between calls; "
    "the working folder is the session's workspace; top-level await is allowed. The result is JSON with "
    "what was printed, the value of a last expression, any error, and the images and HTML that were shown."
)


class PythonTool:
    """Stateless: the kernel comes with each call's context."""

    def __init__(
        self,
        limits: KernelLimits = KERNEL_LIMITS,
        max_argument_chars: int = WIRE_LIMITS.python_argument_chars,
    ) -> None:
        self._limits = limits
        self.spec = ToolSpec(
            name="python",
            description=DESCRIPTION,
            parameters=_parameters(int(limits.max_timeout_seconds * 1000)),
            max_argument_chars=max_argument_chars,
            preview_argument="code",
        )

    @classmethod
    def from_limits(cls, limits: Limits) -> Self:
        return cls(limits.kernel, limits.wire.python_argument_chars)

    async def call(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        try:
            outcome = await context.kernel.execute(
                arguments["code"],
                timeout_seconds=self._timeout_seconds(arguments.get("timeout_ms")),
                on_output=context.on_output,
                interrupted=context.interrupted,
            )
        except KernelStartFailed as error:
            report = ErrorReport("KernelStartFailed", str(error), "")
            outcome = Outcome("error", Output(error=report))
        return _result(outcome)

    def _timeout_seconds(self, timeout_ms: float | None) -> float:
        if timeout_ms is None:
            return self._limits.default_timeout_seconds
        return timeout_ms / 1000


def _parameters(longest_ms: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "The code to run."},
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "maximum": longest_ms,
                "description": "Stop the code after this many milliseconds.",
            },
        },
        "required": ["code"],
    }


def _result(outcome: Outcome) -> ToolResult:
    output = outcome.output
    return ToolResult(
        status=outcome.status,
        text=_text(outcome),
        output=output.text if output.truncated else None,
        artifacts=output.artifacts,
        kernel=outcome.kernel,
        state_lost=outcome.state_lost,
        interrupted_at=outcome.interrupted_at,
    )


def _text(outcome: Outcome) -> str:
    output, error = outcome.output, outcome.output.error
    return json.dumps(
        {
            "status": outcome.status,
            "output": output.model_text,
            "truncated": output.truncated,
            "error": error and {"name": error.name, "message": error.message, "traceback": error.traceback},
            "displays": [_named(display) for display in output.displays],
        },
        ensure_ascii=False,
    )


def _named(display: Display) -> dict[str, str]:
    fields = {
        "kind": display.kind,
        "mime_type": display.mime_type,
        "artifact": display.artifact,
        "text": display.text,
    }
    return {key: value for key, value in fields.items() if value is not None}
