"""The HTTP client of a connection: no proxy or key from the environment, and bodies that end somewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx2

CONNECT_SECONDS = 10.0


def http_client(
    url: str, headers: Mapping[str, str], *, read_seconds: float, body_bytes: int
) -> httpx2.AsyncClient:
    """For one server. An answer may take `read_seconds` and `body_bytes`, an event stream more of both."""
    # Reading all certificate authorities takes longer than a local server's whole answer.
    verify = url.startswith("https:")
    return httpx2.AsyncClient(
        headers=dict(headers),
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=read_seconds),
        transport=BoundedTransport(body_bytes, verify=verify),
        trust_env=False,
    )


class BodyTooLarge(httpx2.TransportError):
    """More than may be held in memory came as one body."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Bodies beyond `body_bytes` end in BodyTooLarge. An event stream has a bound for each event instead."""

    def __init__(self, body_bytes: int, *, verify: bool) -> None:
        super().__init__(verify=verify, trust_env=False)
        self._body_bytes = body_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # What is counted must be what is held: a small compressed body may be a large one.
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return response
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = BoundedStream(response.stream, self._body_bytes)
        return response


class BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit_bytes: int) -> None:
        self._inner = inner
        self._limit_bytes = limit_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for data in self._inner:
            seen += len(data)
            if seen > self._limit_bytes:
                raise BodyTooLarge(f"the body is larger than {self._limit_bytes} bytes")
            yield data

    async def aclose(self) -> None:
        await self._inner.aclose()
