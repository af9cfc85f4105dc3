"""A program that is kept running: its start, its end, its return."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from scripts.distributed.keeper import Keeper, Probe
from scripts.distributed.logs import Log
from scripts.distributed.process import StartFailed
from tests.support.distributed import running
from tests.unit.distributed.programs import BROKEN, DEAF, SERVING, WITH_WORKER, program

PATIENCE_SECONDS = 30.0
Keep = Callable[..., Keeper]


@pytest.fixture
async def keep(tmp_path: Path) -> AsyncIterator[Keep]:
    made: list[Keeper] = []

    def keeper(code: str, probe: Probe | None = None, changed: Callable[[], None] = lambda: None) -> Keeper:
        made.append(Keeper(program(code, tmp_path), Log(tmp_path / "log"), probe=probe, changed=changed))
        return made[-1]

    yield keeper
    for each in made:
        each.kill()
        await each.stop(PATIENCE_SECONDS)


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not fact():
            await asyncio.sleep(0.01)


async def test_it_is_started_once_it_says_so(keep: Keep, tmp_path: Path) -> None:
    pids: list[int | None] = []
    keeper: Keeper = keep(SERVING, changed=lambda: pids.append(keeper.pid))
    await keeper.start()
    assert keeper.pid in running({keeper.pid or 0})
    assert pids == [keeper.pid]
    await keeper.stop(PATIENCE_SECONDS)
    assert keeper.pid is None


async def test_it_is_started_once_its_probe_says_so(keep: Keep) -> None:
    answers = iter([False, False, True])

    async def probe() -> bool:
        return next(answers)

    await keep("import time; time.sleep(1000)", probe).start()
    assert list(answers) == []


async def test_one_that_ends_at_its_start_fails_with_its_last_words(keep: Keep) -> None:
    with pytest.raises(StartFailed, match="tried ended with 1\nno such luck"):
        await keep(BROKEN).start()


async def test_a_program_that_is_not_there_fails_with_its_name(tmp_path: Path, keep: Keep) -> None:
    keeper = keep(SERVING)
    object.__setattr__(keeper.program, "command", ("/no/such/program",))
    with pytest.raises(StartFailed, match="/no/such/program: No such file"):
        await keeper.start()


async def test_a_killed_one_comes_back_and_the_log_names_it(
    keep: Keep, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "albedo.distributed")
    keeper = keep(SERVING)
    await keeper.start()
    first = keeper.pid
    assert first
    os.kill(first, signal.SIGKILL)
    await until(lambda: "tried is back" in caplog.messages)
    assert keeper.pid not in (None, first)
    assert "tried was ended by SIGKILL: it is started again in 0.2 s" in caplog.messages


async def test_the_pause_grows_while_it_does_not_last(
    keep: Keep, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scripts.distributed.keeper.GOOD_SECONDS", 1000.0)
    caplog.set_level(logging.INFO, "albedo.distributed")
    keeper = keep(SERVING)
    await keeper.start()
    for time in (1, 2, 3):
        assert keeper.pid
        os.kill(keeper.pid, signal.SIGKILL)
        await until(lambda time=time: caplog.messages.count("tried is back") == time)  # type: ignore[misc]
    told = [message.rpartition(" in ")[2] for message in caplog.messages if "again" in message]
    assert told == ["0.2 s", "0.4 s", "0.8 s"]


async def test_a_stopped_one_stays_away(keep: Keep, caplog: pytest.LogCaptureFixture) -> None:
    keeper = keep(SERVING)
    await keeper.start()
    await keeper.stop(PATIENCE_SECONDS)
    assert keeper.pid is None
    assert caplog.messages == []


async def test_one_that_does_not_end_is_killed(keep: Keep, caplog: pytest.LogCaptureFixture) -> None:
    keeper = keep(DEAF)
    await keeper.start()
    await keeper.stop(0.05)
    assert keeper.pid is None
    assert caplog.messages == ["tried does not end: it is killed"]


async def test_what_it_started_in_its_group_ends_with_it(keep: Keep, tmp_path: Path) -> None:
    keeper = keep(WITH_WORKER)
    await keeper.start()
    words = (tmp_path / "log").read_text("ascii").split()
    worker = int(words[words.index("worker") + 1])
    assert running({worker})
    assert keeper.pid
    os.kill(keeper.pid, signal.SIGKILL)
    await until(lambda: not running({worker}))


async def test_its_log_is_its_owner_s_alone(keep: Keep, tmp_path: Path) -> None:
    await keep(SERVING).start()
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0
