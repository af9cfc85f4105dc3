"""Programs that do one thing and end."""

from __future__ import annotations

import tempfile

from scripts.distributed.logs import Log
from scripts.distributed.process import Process, Program, StartFailed


async def run(program: Program, log: Log) -> None:
    """Raises StartFailed with the end of its log where it fails."""
    with log.open() as output:
        process = Process(program, output, program.environment)
    await _ended(process)
    if process.returncode:
        raise StartFailed(f"{program.name} ended with {process.returncode}\n{log.tail()}")


async def ask(program: Program) -> str:
    """What it printed. Raises StartFailed with that."""
    with tempfile.TemporaryFile() as output:
        process = Process(program, output, program.environment)
        await _ended(process)
        output.seek(0)
        said = output.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise StartFailed(f"{program.name} ended with {process.returncode}\n{said}")
    return said


async def _ended(process: Process) -> None:
    try:
        await process.ended.wait()
    except BaseException:
        process.kill()
        raise
