"""What is known of an MCP server before it is asked: how to reach it, and with which secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class McpServer:
    """`transport` is `stdio` (then `command`, `args`, `env`) or `http` (then `url`, `headers`)."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Shelter(Protocol):
    """Ends processes of ours with everything that they started, also where this process is killed."""

    def mark(self, token: str) -> Mapping[str, str]:
        """The variables that a process must have in its environment to be found again."""
        ...

    def unmark(self, token: str) -> None:
        """Kill what has this mark."""
        ...
