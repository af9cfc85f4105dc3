"""What the parts of a driver share while one run is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sessions_app.models import Run, Session
from sessions_app.store.fence import Fence
from streaming.actors.interrupts import InterruptScope
from streaming.actors.publisher import Publisher
from streaming.actors.services import Services
from streaming.progress.projection import Projection
from streaming.tools.base import SessionKernel
from streaming.tools.mcp.servers import McpServers
from streaming.tools.registry import ToolRegistry


@dataclass(slots=True)
class Turn:
    """One run's surroundings. The times are the proof of a stop; the profile is the one last asked.

    `newest_input` is the order of the last input that the run has taken.

    `tools` are the process's own until those of the session's MCP servers have joined them.
    """

    fence: Fence
    generation: str
    session: Session
    run: Run
    publisher: Publisher
    projection: Projection
    kernel: SessionKernel
    services: Services
    mcp: McpServers
    tools: ToolRegistry
    newest_input: int
    scope: InterruptScope = field(default_factory=InterruptScope)
    provider_closed_at: datetime | None = None
    tool_interrupted_at: datetime | None = None
    kernel_after_stop: str = ""
    provider: str = ""
    model: str = ""

    @property
    def run_id(self) -> str:
        return str(self.run.id)

    @property
    def workspace(self) -> Path:
        return Path(self.session.workspace)

    def call_prefix(self, step: int, attempt: int) -> str:
        """What the `call_id`s of an attempt begin with; its output index follows."""
        return f"{self.generation}-{self.run_id}-{step}-{attempt}"
