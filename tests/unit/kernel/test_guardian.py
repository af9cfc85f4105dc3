"""The guardian alone: what it is told, and what it does at the end of its input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.kernel.guard import GUARDIAN
from streaming.kernel.guardian import MARKER, kill_marked
from tests.support.processes import wait_for

TOKEN = f"token{os.getpid()}"


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for process in made:
        process.kill()
        process.wait()


def sleeper(made: list[subprocess.Popen[bytes]], mark: str | None) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.environ["PATH"]} | ({MARKER: mark} if mark else {})
    made.append(subprocess.Popen(["sleep", "1000"], start_new_session=True, env=environment))
    # Between fork and exec it still has the environment of the test.
    wait_for(lambda: b"sleep" in Path(f"/proc/{made[-1].pid}/cmdline").read_bytes(), "it sleeps")
    return made[-1]


def guardian() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", str(GUARDIAN)], stdin=subprocess.PIPE, bufsize=0)


def tell(process: subprocess.Popen[bytes], **order: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")


def test_only_what_carries_the_mark_is_killed(sleepers: list[subprocess.Popen[bytes]]) -> None:
    marked, other, plain = (sleeper(sleepers, mark) for mark in (TOKEN, TOKEN + "0", None))
    assert kill_marked([TOKEN]) == 1
    assert marked.wait(30) < 0
    assert other.poll() is plain.poll() is None


def test_the_end_of_its_input_ends_all_runs(tmp_path: Path, sleepers: list[subprocess.Popen[bytes]]) -> None:
    grouped, marked = sleeper(sleepers, None), sleeper(sleepers, TOKEN)
    (tmp_path / "root" / "run").mkdir(parents=True)
    process = guardian()
    tell(process, root=str(tmp_path / "root"))
    tell(process, add=TOKEN, group=grouped.pid, folder=str(tmp_path / "root" / "run"))
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 0
    assert grouped.wait(30) < 0
    assert marked.wait(30) < 0
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_one_run_leaves_the_others(
    tmp_path: Path, sleepers: list[subprocess.Popen[bytes]]
) -> None:
    first, second = sleeper(sleepers, TOKEN + "a"), sleeper(sleepers, TOKEN + "b")
    process = guardian()
    for token, run in ((TOKEN + "a", first), (TOKEN + "b", second)):
        (tmp_path / token).mkdir()
        tell(process, add=token, group=run.pid, folder=str(tmp_path / token))
    tell(process, end=TOKEN + "a")
    tell(process, end="never heard of")
    assert first.wait(30) < 0
    wait_for(lambda: not (tmp_path / f"{TOKEN}a").exists(), "its folder is gone")
    assert second.poll() is None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 0
    assert second.wait(30) < 0
