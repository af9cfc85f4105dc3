"""Our own errors of the provider side: every foreign one becomes one of these at the seam.

    ProviderError
    ├── WireError            the response itself: damaged, truncated, over a limit, an error event
    ├── TransportError       connection, reset, TLS, a deadline
    └── StatusError          an HTTP status that is not a stream

Only `providers/retry.py` decides on them: `retryable` says whether the same request may be sent
again, `retry_after` (seconds) how long the server asked to wait.
"""

from __future__ import annotations

from typing import Literal

TimeoutScope = Literal["connect", "first_event", "idle", "request", "run"]


class ProviderError(Exception):
    """`code` is stable and safe to show; `detail` is at most 300 scalars, with secrets taken out."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        retryable: bool,
        retry_after: float | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.retryable = retryable
        self.retry_after = retry_after
        self.http_status = http_status


class WireError(ProviderError):
    """The bytes of a response that was being read."""


class TransportError(ProviderError):
    """The connection, or a deadline on it (`timeout_scope` names which)."""

    timeout_scope: TimeoutScope | None = None


class StatusError(ProviderError):
    """An answer that is no stream at all."""
