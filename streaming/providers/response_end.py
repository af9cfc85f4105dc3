"""From what was gathered to one `StepResponse`, or the error that the end of the response means.

Both protocols end the same way; they only name their ends differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from streaming.providers.answer import Answer
from streaming.providers.call_drafts import CallDrafts
from streaming.providers.types import StepResponse, Usage
from streaming.providers.wire_errors import empty, filtered, limit_without_answer

Ending = Literal["whole", "limit", "filter"]


def conclude(
    answer: Answer,
    drafts: CallDrafts,
    *,
    ending: Ending,
    finish: str,
    usage: Usage,
    thinking_echo: tuple[Mapping[str, Any], ...] = (),
    text_echo: Mapping[str, Any] | None = None,
) -> StepResponse:
    """Raises `WireError` where nothing of the response may be kept."""
    answer.flush()
    if ending == "filter" and drafts:
        raise filtered()
    calls = drafts.settle(cut_off=ending == "limit")
    text = answer.text
    if not calls and not text.strip():
        raise {"whole": empty, "limit": limit_without_answer, "filter": filtered}[ending]()
    return StepResponse(
        text=text,
        thinking=answer.thinking,
        calls=calls,
        usage=usage,
        finish=finish,
        truncated=ending != "whole",
        refusal=answer.refusal,
        thinking_echo=thinking_echo,
        text_echo=text_echo,
    )
