"""What readers cost the server and each other: one that stalls, thousands that crawl, a herd that comes back.

    python -m bench.readers stalled [200]   so many readers of one session, in turns with and without one more
                                            that reads nothing: their latency, and the ratio of the two
    python -m bench.readers slow [1000]     sockets that read a byte a second: memory for each, the latency of
                                            ten others, how the slow ones end
    python -m bench.readers herd [2000]     sockets whose server is started anew: until all have attached

Each starts `manage.py serve` on data of its own; a scripted model writes 20 lines a second. Latency
is from the model's write to the reader's receipt. All of it shares the machine: trust the ratios of one run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from streaming.providers.scripted import Reply, ScriptedProvider
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say

PROJECT = Path(__file__).parents[1]
PACE_SECONDS = 0.05
LINE_CHARS = 1_024
MARK = b'"text":"'
PHASE_SECONDS = 6.0
PAIRS = 5
STALL_BYTES = 160 * 1_024
SMALL_BUFFER = 4_096
KIB = 1_024
SETTINGS = {
    "ALBEDO_FEED_TEXT_COALESCE_SECONDS": "0.001",
    "ALBEDO_DELIVERY_SUBSCRIBERS_PER_USER": "100000",
    "ALBEDO_DELIVERY_SUBSCRIBERS": "100000",
    "ALBEDO_WIRE_TEXT_CHARS": "1000000000",
    "ALBEDO_WIRE_RESPONSE_BYTES": "10000000000",
    "ALBEDO_LOG_LEVEL": "ERROR",
}


class Model:
    """Writes numbered lines for ever, and knows when it wrote each."""

    def __init__(self) -> None:
        self.written: list[float] = []

    async def __call__(self, request: ScriptedRequest, out: Out) -> None:
        head, text, *_ = Reply(Say("x")).frames(request.protocol)
        await out.write(head)
        while True:
            line = f"{len(self.written):07d} ".ljust(LINE_CHARS, ".")
            self.written.append(time.perf_counter())
            await out.write(text.replace(b'"x"', json.dumps(line).encode()))
            await out.sleep(PACE_SECONDS)


class Serving:
    """The server, one session of it that is being written, and the latency of what is read."""

    def __init__(self, folder: Path, model: Model, **settings: str) -> None:
        self._folder, self._settings, self._model = folder, settings, model
        self.latencies: list[float] = []
        self.process: subprocess.Popen[bytes]
        self.url = self.token = self.session_id = ""

    async def start(self) -> None:
        facts = self._folder / "server.json"
        facts.unlink(missing_ok=True)
        environment = {**os.environ, **SETTINGS, **self._settings}
        command = [sys.executable, "manage.py", "serve", "--port", "0", "--data-dir", str(self._folder)]
        self.process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=subprocess.DEVNULL)
        while not facts.exists():
            assert self.process.poll() is None, "the server did not start"
            await asyncio.sleep(0.05)
        told = json.loads(facts.read_text("utf-8"))
        self.url, self.token = told["url"], told["token"]

    async def begin(self, provider: ScriptedProvider) -> None:
        """Make the session, and let it be written."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, trust_env=False) as client:
            profile = {"base_url": provider.base_url, "protocol": "chat_completions", "model": "m"}
            patience = {"request_timeout": 3_600, "run_timeout": 7_200}
            (await client.put("/api/providers/bench", json={**profile, **patience})).raise_for_status()
            made = await client.post("/api/sessions", json={"provider": "bench"})
            self.session_id = made.json()["id"]
            await client.post(f"/api/sessions/{self.session_id}/inputs", json={"text": "write"})
        while not self._model.written:
            await asyncio.sleep(0.05)

    def rss_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    async def connect(self, *, small: bool = False) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A WebSocket that is open; raises ConnectionError where it was refused."""
        raw = socket.socket()
        raw.setblocking(False)
        if small:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        host, port = self.url.removeprefix("http://").split(":")
        await asyncio.get_running_loop().sock_connect(raw, (host, int(port)))
        # What lies in this process must not pass for what the server holds.
        reader, writer = await asyncio.open_connection(sock=raw, limit=KIB if small else 64 * KIB)
        lines = (
            f"GET /ws/sessions/{self.session_id} HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            f"Authorization: Bearer {self.token}",
        )
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("no answer") from error
        if not head.startswith(b"HTTP/1.1 101"):
            writer.close()
            raise ConnectionError(head.split(b"\r\n", 1)[0].decode())
        return reader, writer

    async def read(self, reader: asyncio.StreamReader) -> None:
        """All the time; notes how long each line was on its way."""
        while data := await reader.read(64 * KIB):
            now = time.perf_counter()
            start = 0
            while (found := data.find(MARK, start)) >= 0:
                start = found + len(MARK)
                number = data[start : start + 7]
                # Not those of a snapshot or a tool: seven digits and a space, in this very read.
                if number.isdigit() and data[start + 7 : start + 8] == b" ":
                    self.latencies.append(now - self._model.written[int(number)])


@contextlib.asynccontextmanager
async def serving(**settings: str) -> AsyncIterator[Serving]:
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        async with ScriptedProvider(model, keep=0) as provider:
            server = Serving(Path(folder), model, **settings)
            await server.start()
            try:
                await server.begin(provider)
                yield server
            finally:
                server.process.kill()
                server.process.wait()


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def shown(name: str, values: list[float]) -> str:
    at = {share: percentile(values, share) * 1e3 for share in (0.5, 0.99, 0.999)}
    return f"{name:24} p50 {at[0.5]:7.1f} ms   p99 {at[0.99]:7.1f} ms   p99.9 {at[0.999]:7.1f} ms"


async def measured(server: Serving) -> list[float]:
    await asyncio.sleep(1.0)
    server.latencies.clear()
    await asyncio.sleep(PHASE_SECONDS)
    return list(server.latencies)


async def stalled(readers: int) -> None:
    small = str(64 * KIB)
    settings = {"ALBEDO_DELIVERY_SEND_SECONDS": "3600", "ALBEDO_DELIVERY_SOCKET_BUFFER_BYTES": small}
    async with serving(**settings) as server:
        opened = [await server.connect() for _ in range(readers)]
        tasks = [asyncio.create_task(server.read(reader)) for reader, _ in opened]
        found: dict[bool, list[list[float]]] = {True: [], False: []}
        for _ in range(PAIRS):
            found[False].append(await measured(server))
            _, stuck = await server.connect(small=True)
            # It takes no more than the buffers hold, and these are soon full.
            await asyncio.sleep(STALL_BYTES / (LINE_CHARS / PACE_SECONDS))
            found[True].append(await measured(server))
            stuck.transport.abort()
        for there, name in ((False, "without"), (True, "with one that is stuck")):
            print(shown(name, [value for part in found[there] for value in part]))
        pairs = list(zip(found[True], found[False], strict=True))
        for share in (0.5, 0.99):
            ratios = [percentile(one, share) / percentile(other, share) for one, other in pairs]
            each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"with / without, p{share * 100:.0f}: {statistics.median(ratios):.2f} (of {each})")
        for task in tasks:
            task.cancel()


async def slow(readers: int) -> None:
    async with serving(ALBEDO_DELIVERY_SEND_SECONDS="20") as server:
        quick = [await server.connect() for _ in range(10)]
        tasks = [asyncio.create_task(server.read(reader)) for reader, _ in quick]
        alone, base = await measured(server), server.rss_bytes()
        ends = Counter[str]()
        server.latencies.clear()
        came = await asyncio.gather(*(server.connect(small=True) for _ in range(readers)))
        arriving = list(server.latencies)
        crawlers = [asyncio.create_task(_crawl(reader, writer, ends)) for reader, writer in came]
        there = await measured(server)
        peak, began = 0, time.monotonic()
        while not all(task.done() for task in crawlers) and time.monotonic() - began < 300:
            await asyncio.sleep(0.5)
            peak = max(peak, server.rss_bytes())
        print(shown("ten alone", alone))
        print(shown(f"while {readers} come", arriving))
        print(shown("beside them", there))
        print(f"memory for each slow one: {(peak - base) / readers / KIB:.1f} KiB at the most")
        print(f"they ended, in {time.monotonic() - began:.0f} s: {dict(ends)}")
        for task in (*tasks, *crawlers):
            task.cancel()


async def _crawl(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ends: dict[str, int]) -> None:
    """Read a byte a second, until the server has enough of it; then the rest, for the code."""
    end = "reset"
    with contextlib.suppress(ConnectionError):
        for _ in range(60):
            await reader.read(1)
            await asyncio.sleep(1.0)
        rest = b""
        while data := await reader.read(64 * KIB):
            rest = (rest + data)[-64:]
        # A close frame of two bytes, which is the last thing that the server sends.
        end = str(int.from_bytes(rest[-2:], "big")) if rest[-4:-2] == b"\x88\x02" else "closed"
    ends[end] += 1
    writer.close()


async def herd(readers: int) -> None:
    async with serving() as server:
        opened = [await server.connect() for _ in range(readers)]
        for reader, _ in opened:
            await reader.read(64)
        server.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.process.wait)
        for _, writer in opened:
            writer.transport.abort()
        await server.start()
        for name, spread in (("all at once", 0.0), ("as `retry` says", 4.0)):
            began, refused = time.monotonic(), [0]
            returned = await asyncio.gather(*(_return(server, spread, refused) for _ in range(readers)))
            waits = [done - began for done, _ in returned]
            median = statistics.median(waits)
            print(f"{name:16} all in {max(waits):.1f} s, half in {median:.1f} s, {refused[0]} refusals")
            for _, writer in returned:
                writer.transport.abort()
            await asyncio.sleep(2.0)


async def _return(server: Serving, spread: float, refused: list[int]) -> tuple[float, asyncio.StreamWriter]:
    """Until a first batch is there; after a refusal in half a second to one and a half."""
    await asyncio.sleep(random.uniform(0, spread))
    while True:
        try:
            reader, writer = await server.connect()
            head = await reader.readexactly(2)
            # Not a close frame, but a message.
            if head[0] & 0x0F == 1:
                return time.monotonic(), writer
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        refused[0] += 1
        await asyncio.sleep(random.uniform(0.5, 1.5))


WORKS = {"stalled": (stalled, 200), "slow": (slow, 1_000), "herd": (herd, 2_000)}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in WORKS:
        raise SystemExit(__doc__)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    work, readers = WORKS[sys.argv[1]]
    asyncio.run(work(int(sys.argv[2]) if len(sys.argv) > 2 else readers))


if __name__ == "__main__":
    main()
