"""The HTTP seam: one exchange at a time, read only when asked to. Foreign errors end here.

An `Exchange` owns its connection through one task; closing is cancelling that task and waiting for it
a bounded time. It follows no redirect, reads no proxy and no credential from the environment, and
never puts a foreign error's text into ours: it may quote a header.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import httpcore
import httpx

from streaming.providers.errors import TransportError
from streaming.providers.inflate import Inflater
from streaming.providers.seam import invalid_address, mapped, unsendable

KEEPALIVE_SECONDS = 30.0
KEEPALIVE_CONNECTIONS = 32
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(
    r"(?:[^\x00-\x20\x7f\ud800-\udfff](?:[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*"
    r"[^\x00-\x20\x7f\ud800-\udfff])?)?"
)

_current: ContextVar[Exchange | None] = ContextVar("provider_exchange", default=None)


class _GatedStream(httpcore.AsyncNetworkStream):
    """A socket that reads only when the exchange that now uses it has been asked for more."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = _current.get()
        if exchange is not None:
            await exchange.wait_for_demand()
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        exchange = _current.get()
        if exchange is not None:
            exchange.connected()
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _GatedStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _GatedBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, inner: httpcore.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _GatedStream(await self._inner.connect_tcp(host, port, timeout, local_address, socket_options))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class Transport:
    """The process's connections to providers. `backend` is for tests that need a broken network."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_connections=None,
            max_keepalive_connections=KEEPALIVE_CONNECTIONS,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=_GatedBackend(backend or httpcore.AnyIOBackend()),
        )
        self._exchanges: set[asyncio.Task[None]] = set()

    def open(self, url: str, headers: dict[str, str], body: bytes) -> Exchange:
        """Starts a POST; nothing of the answer is read before `Exchange.read`."""
        exchange = Exchange(self._pool, _request(url, headers, body))
        # Held here: a task whose closing hangs must outlive the attempt that gave up on it.
        self._exchanges.add(exchange.task)
        exchange.task.add_done_callback(self._forget)
        return exchange

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._exchanges.discard(task)
        # Looked at here once, so that one whose attempt is gone does not end in a warning.
        if not task.cancelled():
            task.exception()

    async def aclose(self, seconds: float) -> None:
        """Ends every exchange and connection; waits at most `seconds`."""
        for task in self._exchanges:
            task.cancel()
        await asyncio.wait({asyncio.ensure_future(self._close_all())}, timeout=seconds)

    async def _close_all(self) -> None:
        await asyncio.gather(*self._exchanges, return_exceptions=True)
        await self._pool.aclose()


class Exchange:
    """One request and its answer.

    `on_connected` is called once, when a connection is ready and the request begins to be sent.
    """

    def __init__(self, pool: httpcore.AsyncConnectionPool, request: httpcore.Request) -> None:
        self._pool = pool
        self._request: httpcore.Request | None = request
        self._changed = asyncio.Event()
        self._demand = asyncio.Event()
        # Headers are part of what the first demand brings; only the body waits for a second one.
        self._demand.set()
        self._waiting = False
        self._chunks: list[bytes] = []
        self._inflater: Inflater | None = None
        self.on_connected: Callable[[], None] | None = None
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.eof = False
        self.close_error_type: str | None = None
        self.task = asyncio.create_task(self._run(), name="provider-exchange")
        self.task.add_done_callback(lambda _: self._changed.set())

    async def read(self) -> bool:
        """Waits until something new is known: headers, bytes (`take`), the end (`eof`).

        True where bytes or the end came. Raises TransportError. Cancelling it loses nothing.
        """
        if not self._chunks and not self.task.done():
            self._changed.clear()
            self._waiting = False
            self._demand.set()
            await self._changed.wait()
        if self.task.done() and not self._chunks and not self.eof:
            self._raise_failure()
        return bool(self._chunks) or self.eof

    def take(self) -> Iterator[bytes]:
        """The body bytes of the last socket read, decompressed lazily in pieces of bounded size."""
        chunks, self._chunks = self._chunks, []
        if self._inflater is None:
            return
        # Joined: a server that sends an HTTP chunk an event would else cost a decoder's call for each.
        yield from self._inflater.feed(b"".join(chunks))
        if self.eof:
            self._inflater.finish()

    async def close(self, seconds: float) -> None:
        """Closes the transport, in at most `seconds`; `close_error_type` says what went wrong, if anything.

        A cancellation that arrives meanwhile is raised when the closing is over, not lost.
        """
        self.task.cancel()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        interrupted: asyncio.CancelledError | None = None
        while not self.task.done() and loop.time() < deadline:
            try:
                await asyncio.wait({self.task}, timeout=deadline - loop.time())
            except asyncio.CancelledError as cancelled:
                interrupted = cancelled
        self.close_error_type = self._close_failure()
        if interrupted is not None:
            raise interrupted

    def _close_failure(self) -> str | None:
        if not self.task.done():
            return "TimeoutError"
        if self.task.cancelled() or self.task.exception() is None:
            return None
        error = self.task.exception()
        # A failure of the exchange itself had closed the connection already.
        return None if isinstance(error, TransportError) else type(error).__name__

    # What the gated socket calls, inside the exchange's own task.

    def connected(self) -> None:
        """The connection is ready (also where it was kept alive)."""
        if self.on_connected is not None:
            self.on_connected()
            self.on_connected = None
            self._changed.set()

    async def wait_for_demand(self) -> None:
        """Returns when the consumer has asked for more than what was read so far."""
        if self._chunks or self.status is not None:
            if not self._waiting:
                self._waiting = True
                self._demand.clear()
                self._changed.set()
            await self._demand.wait()

    async def _run(self) -> None:
        _current.set(self)
        request, self._request = self._request, None
        assert request is not None
        try:
            response = await self._pool.handle_async_request(request)
        except Exception as error:
            raise mapped(error) from None
        try:
            await self._read_body(response)
        except TransportError:
            raise
        except Exception as error:
            raise mapped(error) from None
        finally:
            await response.aclose()

    async def _read_body(self, response: httpcore.Response) -> None:
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }
        self.status = response.status
        self._inflater = Inflater.for_encoding(self.headers.get("content-encoding", ""))
        assert isinstance(response.stream, AsyncIterable)
        async for chunk in response.stream:
            self._chunks.append(chunk)
        self.eof = True

    def _raise_failure(self) -> None:
        if self.task.cancelled():
            raise TransportError("connection_closed", "the connection was closed", retryable=True)
        error = self.task.exception()
        if error is not None:
            raise error


def _request(url: str, headers: dict[str, str], body: bytes) -> httpcore.Request:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise invalid_address() from None
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo:
        raise invalid_address()
    target = httpcore.URL(
        scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path
    )
    sent = [(b"host", parsed.netloc), (b"content-length", str(len(body)).encode())]
    for name, value in headers.items():
        # Found here, not by the library: that would quote the value in its log.
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise unsendable()
        sent.append((name.encode("ascii"), value.encode("utf-8")))
    return httpcore.Request("POST", target, headers=sent, content=body)
