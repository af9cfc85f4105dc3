"""Keeps one program running: started again when it ends, with a pause that grows, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable

from scripts.distributed.logs import Log
from scripts.distributed.notices import Notices
from scripts.distributed.process import Process, Program, StartFailed

log = logging.getLogger("albedo.distributed")

READY_SECONDS = 90.0
PROBE_SECONDS = 0.05
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 10.0
# One that ran for this long had no trouble with its start.
GOOD_SECONDS = 10.0

Probe = Callable[[], Awaitable[bool]]


class Keeper:
    """`probe` tells whether the program answers; without one the program says so itself (NOTIFY_SOCKET).

    `changed` is called whenever `pid` is another one.
    """

    def __init__(
        self, program: Program, output: Log, *, probe: Probe | None, changed: Callable[[], None]
    ) -> None:
        self.program = program
        self._output = output
        self._probe = probe
        self._changed = changed
        self._process: Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """None while it is not running."""
        process = self._process
        return process.pid if process is not None and not process.ended.is_set() else None

    async def start(self) -> None:
        """Return once it is ready. Raises StartFailed where it does not come up at first."""
        await self._launch()
        self._keeping = asyncio.create_task(self._keep(), name=f"keep-{self.program.name}")

    def begin_stop(self) -> None:
        """Ask it to end; it is not started again."""
        self._stopping = True
        if self._keeping is not None:
            self._keeping.cancel()
        if self._process is not None:
            self._process.signal(self.program.stop_signal)

    async def stop(self, seconds: float) -> None:
        """Ask it to end, and kill it where it does not within `seconds`."""
        self.begin_stop()
        if self._keeping is not None:
            await asyncio.gather(self._keeping, return_exceptions=True)
        process = self._process
        if process is None:
            return
        try:
            await asyncio.wait_for(process.ended.wait(), seconds)
        except TimeoutError:
            log.warning("%s does not end: it is killed", self.program.name)
            process.kill()
            await process.ended.wait()

    def kill(self) -> None:
        self._stopping = True
        if self._process is not None:
            self._process.kill()

    async def _keep(self) -> None:
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE_SECONDS
        while True:
            ready_at, process = loop.time(), self._process
            assert process is not None
            await process.ended.wait()
            self._changed()
            if loop.time() - ready_at >= GOOD_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            log.warning("%s %s: it is started again in %g s", self.program.name, _told(process), pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            try:
                await self._launch()
                log.info("%s is back", self.program.name)
            except (StartFailed, OSError) as error:
                # Nothing ends the keeping: a full disk is not for ever.
                log.warning("%s", error)

    async def _launch(self) -> None:
        with Notices() as notices:
            environment = dict(self.program.environment)
            if self._probe is None:
                environment["NOTIFY_SOCKET"] = notices.address
            with self._output.open() as output:
                self._process = Process(self.program, output, environment)
            self._changed()
            await self._until_ready(self._process, notices)

    async def _until_ready(self, process: Process, notices: Notices) -> None:
        """Raises StartFailed; a program that is neither ready nor gone is killed."""
        ready = asyncio.create_task(self._answers(self._probe) if self._probe else notices.ready())
        ended = asyncio.create_task(process.ended.wait())
        try:
            done, _ = await asyncio.wait(
                (ready, ended), timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if ended in done:
                raise self._failed(_told(process))
            if ready not in done:
                process.kill()
                raise self._failed(f"is not ready after {READY_SECONDS:g} s")
            ready.result()
        finally:
            for task in (ready, ended):
                task.cancel()
            await asyncio.gather(ready, ended, return_exceptions=True)

    async def _answers(self, probe: Probe) -> None:
        while not await probe():  # noqa: ASYNC110 - a fact of another process
            await asyncio.sleep(PROBE_SECONDS)

    def _failed(self, how: str) -> StartFailed:
        return StartFailed(f"{self.program.name} {how}\n{self._output.tail()}")


def _told(process: Process) -> str:
    code = process.returncode
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with {code}"
