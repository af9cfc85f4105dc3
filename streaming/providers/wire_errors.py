"""The errors a decoder finds by itself, each with its one code and its reason for a retry or none."""

from __future__ import annotations

from streaming.providers.errors import WireError


def ended_early() -> WireError:
    """The stream broke off: asking again may well succeed."""
    return WireError("response_ended_early", "the response ended before its terminal event", retryable=True)


def damaged() -> WireError:
    """Never carries the bytes: they may be half of an argument."""
    return WireError("response_damaged", "the response holds data that is not JSON", retryable=True)


def empty() -> WireError:
    return WireError("response_empty", "the response holds no text and no call", retryable=True)


def truncated() -> WireError:
    """The same request would run into the same limit."""
    return WireError("response_truncated", "the response was cut off inside a tool call", retryable=False)


def limit_without_answer() -> WireError:
    return WireError("response_truncated", "the output limit was reached before any answer", retryable=False)


def web_page() -> WireError:
    return WireError("web_page", "the endpoint answered with a web page", retryable=False)


def filtered() -> WireError:
    return WireError("content_policy", "the provider's content filter withheld the answer", retryable=False)


def over_limit(what: str) -> WireError:
    """A guard's stop: what one model run blew up, another need not."""
    return WireError("response_over_limit", f"the response exceeds the limit of {what}", retryable=True)


class ArgumentOverflow(WireError):
    """One call's arguments grew beyond what its tool may take (contract section 9)."""

    def __init__(self, tool: str, limit: int, chars: int) -> None:
        super().__init__("argument_limit", f"the arguments exceed {limit} characters", retryable=True)
        self.tool = tool
        self.limit = limit
        self.chars = chars


def provider_failed() -> WireError:
    """It says so without saying why."""
    return WireError("server_error", "the provider ended the response with an error", retryable=True)
