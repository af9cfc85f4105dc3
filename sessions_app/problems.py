"""What can go wrong for a client: one exception family that becomes one error shape.

Clients branch on `code`; `detail` is for people. No path, secret or request body stands in either.
"""

from __future__ import annotations

from collections.abc import Sequence


class Problem(Exception):
    """`fields` are JSON pointers into the body, or `/name` of a query parameter."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        fields: Sequence[str] = (),
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = list(fields)
        self.retry_after_seconds = retry_after_seconds


class InvalidRequest(Problem):
    """The request itself is at fault: sending it again changes nothing."""

    def __init__(self, detail: str, *fields: str) -> None:
        super().__init__(400, "invalid_request", detail, fields=fields)


class NotFound(Problem):
    """The same words for what is unknown and for what is somebody else's."""

    def __init__(self) -> None:
        super().__init__(404, "not_found", "There is nothing here that you may see.")


class Forbidden(Problem):
    def __init__(self, code: str = "forbidden", detail: str = "Only staff may do this.") -> None:
        super().__init__(403, code, detail)


class Conflict(Problem):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(409, code, detail)


class QueueFull(Problem):
    def __init__(self, limit: int) -> None:
        detail = f"{limit} inputs are waiting, which is the most."
        super().__init__(429, "queue_full", detail, retry_after_seconds=5)


class Unavailable(Problem):
    """Nothing was changed; the same request may work soon."""

    def __init__(self, detail: str, retry_after_seconds: int = 1) -> None:
        super().__init__(503, "unavailable", detail, retry_after_seconds=retry_after_seconds)


class StorageTrouble(Problem):
    """The storage took nothing, or nobody knows whether it did: the same request again settles it.

    `unavailable` passes by itself, `storage_full` and `storage_failed` when somebody mends them.
    """

    def __init__(self, code: str, detail: str, retry_after_seconds: int) -> None:
        super().__init__(503, code, detail, retry_after_seconds=retry_after_seconds)


class LiveUnavailable(Unavailable):
    """The session's actor did not answer in time, and none could be started."""

    def __init__(self) -> None:
        super().__init__("The session's live half did not answer in time.")
