"""A model provider that follows a script, over real HTTP on loopback: the demo model's and the tests' server.

It speaks both protocols. It is no model and no proxy: it never calls out.
"""

from __future__ import annotations

import asyncio
import base64
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from streaming.providers.scripted_chat import chat_frames, chat_object
from streaming.providers.scripted_http import Out, Script, ScriptedConnection, ScriptedRequest
from streaming.providers.scripted_parts import Answer, Finish, Part
from streaming.providers.scripted_responses import responses_frames, responses_object

_KEPT_REQUESTS = 1_000


class Reply:
    """A whole well-formed answer, in the protocol of the request; streamed unless that says not to.

    `pace_seconds` is waited between frames; `write_bytes` cuts the stream anywhere into writes of that size.
    """

    def __init__(
        self,
        *parts: Part,
        usage: tuple[int, int] | None = (5, 7),
        finish: Finish = "stop",
        pace_seconds: float = 0.0,
        write_bytes: int = 0,
    ) -> None:
        self.answer = Answer(parts, usage, finish)
        self._pace_seconds = pace_seconds
        self._write_bytes = write_bytes

    async def __call__(self, request: ScriptedRequest, out: Out) -> None:
        if not request.wants_stream:
            await out.json(200, self.whole(request.protocol))
            return
        for data in self._writes(request.protocol):
            await out.write(data)
            if self._pace_seconds:
                await out.sleep(self._pace_seconds)
        await out.end()

    def frames(self, protocol: str) -> Iterator[bytes]:
        """The stream's events, encoded."""
        return responses_frames(self.answer) if protocol == "responses" else chat_frames(self.answer)

    def whole(self, protocol: str) -> dict[str, Any]:
        return responses_object(self.answer) if protocol == "responses" else chat_object(self.answer)

    def _writes(self, protocol: str) -> Iterator[bytes]:
        if self._write_bytes <= 0:
            yield from self.frames(protocol)
            return
        body = b"".join(self.frames(protocol))
        for start in range(0, len(body), self._write_bytes):
            yield body[start : start + self._write_bytes]


def wire_case(case: Mapping[str, Any]) -> Script:
    """A recorded response as a script: strings are socket writes, beside `b64`, `sleep` and `abort`."""
    response = case["response"]

    async def play(request: ScriptedRequest, out: Out) -> None:
        out.status(response["status"], response.get("headers", {}))
        for chunk in response["chunks"]:
            if isinstance(chunk, str):
                await out.write(chunk)
            elif "b64" in chunk:
                await out.write(base64.b64decode(chunk["b64"]))
            elif "sleep" in chunk:
                await out.sleep(chunk["sleep"])
            elif chunk.get("abort"):
                out.abort()
                return
        await out.end()

    return play


class ScriptedProvider:
    """Serves `script`: one for every request, or one for each in order (a further one gets a 500).

    `requests` holds the last `keep` requests, whole; a server that lives long keeps none.
    """

    def __init__(self, script: Script | Sequence[Script], *, keep: int = _KEPT_REQUESTS) -> None:
        self._scripts = script
        self._served = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: deque[ScriptedRequest] = deque(maxlen=keep)
        self.base_url = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> Self:
        self._server = await asyncio.start_server(self._connect, host, port)
        bound = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://{host}:{bound}/v1"
        return self

    async def stop(self) -> None:
        """Ends every connection and script."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ScriptedConnection(reader, writer, self._play, self.requests.append)
        task = asyncio.create_task(connection.serve())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, request: ScriptedRequest, out: Out) -> None:
        number, self._served = self._served, self._served + 1
        if callable(self._scripts):
            await self._scripts(request, out)
        elif number < len(self._scripts):
            await self._scripts[number](request, out)
        else:
            await out.json(
                500, {"error": {"type": "server_error", "message": "the script has no more answers"}}
            )


class ScriptedThread:
    """A `ScriptedProvider` in a thread and event loop of its own, for code that has none."""

    def __init__(self, script: Script | Sequence[Script], *, port: int = 0) -> None:
        self.provider = ScriptedProvider(script)
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scripted-provider", daemon=True)

    @property
    def base_url(self) -> str:
        return self.provider.base_url

    @property
    def requests(self) -> deque[ScriptedRequest]:
        return self.provider.requests

    def start(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.provider.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self.provider.start(port=self._port))
        finally:
            self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
