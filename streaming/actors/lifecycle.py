"""The phases of a session as a table: what a message makes of a phase, and which pairs must never meet.

Pure. Nothing else changes a phase; a pair that stands as None is a fault of ours and raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Phase = Literal["idle", "preparing", "generating", "running", "waiting_approval", "interrupting"]
Message = Literal["begin", "ask", "call", "hold", "interrupt", "finish"]

PHASES: tuple[Phase, ...] = get_args(Phase)
MESSAGES: tuple[Message, ...] = get_args(Message)


class IllegalTransition(Exception):
    """A message came in a phase that it cannot come in."""


def _row(**to: Phase | None) -> Mapping[str, Phase | None]:
    return MappingProxyType(to)


_WORKING = _row(
    begin=None,
    ask="generating",
    call="running",
    hold="waiting_approval",
    interrupt="interrupting",
    finish="idle",
)
# A run asked to stop stays `interrupting` until it ends, whatever its driver still had to say.
TRANSITIONS: Mapping[Phase, Mapping[str, Phase | None]] = MappingProxyType(
    {
        "idle": _row(begin="preparing", ask=None, call=None, hold=None, interrupt="idle", finish="idle"),
        "preparing": _row(
            begin="preparing", ask="generating", call=None, hold=None, interrupt="interrupting", finish="idle"
        ),
        "generating": _WORKING,
        "running": _WORKING,
        "waiting_approval": _row(
            begin=None,
            ask=None,
            call="running",
            hold="waiting_approval",
            interrupt="interrupting",
            finish="idle",
        ),
        "interrupting": _row(
            begin=None,
            ask="interrupting",
            call="interrupting",
            hold="interrupting",
            interrupt="interrupting",
            finish="idle",
        ),
    }
)


def advance(phase: Phase, message: Message) -> Phase:
    """The phase after `message`. Raises IllegalTransition."""
    to = TRANSITIONS[phase][message]
    if to is None:
        raise IllegalTransition(f"{message} while {phase}")
    return to
