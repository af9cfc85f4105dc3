"""What an execution leaves behind, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Status = Literal["ok", "error", "interrupted", "timeout", "died"]
KernelState = Literal["idle", "restarted"]


@dataclass(frozen=True, slots=True)
class ArtifactData:
    """An image or a page of HTML that code displayed. Width and height in pixels, where the bytes say so."""

    id: str
    mime_type: str
    data: bytes = field(repr=False)
    name: str
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Display:
    """How a result names what was displayed. `artifact` is an artifact's id, None where nothing was kept."""

    kind: Literal["image", "html", "text"]
    mime_type: str
    artifact: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorReport:
    name: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Output:
    """What was printed and shown. `text` is all that is kept, `model_text` what the model gets of it."""

    text: str = ""
    model_text: str = ""
    truncated: bool = False
    error: ErrorReport | None = None
    displays: tuple[Display, ...] = ()
    artifacts: tuple[ArtifactData, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """One execution's end.

    `kernel` is None where no kernel was touched. `state_lost` says that variables of earlier calls are
    gone: the kernel ended in this call, or had ended since the last one. `interrupted_at` is when an
    interrupt or a timeout had taken effect: the kernel was idle again, or killed.
    """

    status: Status
    output: Output = Output()
    kernel: KernelState | None = None
    state_lost: bool = False
    interrupted_at: datetime | None = None
