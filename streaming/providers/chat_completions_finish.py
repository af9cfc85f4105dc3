"""What the finish reasons of Chat Completions servers mean; whether there are calls, the calls decide."""

from __future__ import annotations

from streaming.providers.errors import ProviderError
from streaming.providers.response_end import Ending
from streaming.providers.wire_errors import ended_early, provider_failed

_LIMIT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "max_completion_tokens"})
_FILTER = frozenset(
    {
        "content_filter",
        "content-filter",
        "sensitive",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
    }
)
_BROKEN = frozenset({"abort", "aborted", "cancelled", "canceled"})
_FAILED = frozenset(
    {
        "error",
        "network_error",
        "insufficient_system_resource",
        "malformed_function_call",
        "unexpected_tool_call",
    }
)


def ending_of(reason: str) -> Ending:
    name = reason.lower()
    if name in _LIMIT:
        return "limit"
    return "filter" if name in _FILTER else "whole"


def error_of(reason: str) -> ProviderError | None:
    """Reasons by which a server says that it failed, not the model."""
    name = reason.lower()
    if name in _BROKEN:
        return ended_early()
    return provider_failed() if name in _FAILED else None
