"""Run the tests, and the few that failed once more: alone, one after another, when everything else is over.

    python -m scripts.second_look PYTEST_ARGUMENTS

A test that fails again is a failure. One that passes then may have met a busy machine: no reason to stop, and
none to forget it, so the last lines name it. There is no second look where more than `MOST` tests failed, a
worker ended, a file could not be collected, nothing was run, or pytest itself failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MOST = 5
FAILED = 1  # pytest's exit code for a run that went to its end, with failures
# What xdist says is "when" a worker ended in the middle of a test.
WORKER_ENDED = "???"


@dataclass(frozen=True, slots=True)
class Look:
    """One run of pytest: its exit code, and what it told of itself."""

    code: int
    failed: list[str]
    passed: list[str]
    broken: list[str]

    @property
    def fault(self) -> str:
        """Why this says nothing of the tests; empty where it does."""
        if self.broken:
            return "; ".join(self.broken)
        # With workers pytest has ended with 0 after a fault of its own.
        if self.code not in (0, FAILED) or (self.code == FAILED) != bool(self.failed):
            return f"pytest ended with {self.code}"
        return ""


def main(arguments: list[str]) -> int:
    """The exit code for all of it."""
    with tempfile.TemporaryDirectory(prefix="second-look-") as folder:
        first = look(arguments, Path(folder), "first")
        if first.fault:
            return no_second_look(first, first.fault)
        if not first.failed:
            return 0
        if len(first.failed) > MOST:
            return no_second_look(first, f"{len(first.failed)} tests failed, more than {MOST}")
        say(f"\nA second look at what failed ({len(first.failed)}), alone and one after another:")
        alone = ["--numprocesses", "0", "--last-failed", "--last-failed-no-failures", "none"]
        second = look([*arguments, *alone], Path(folder), "second")
    return verdict(first, second)


def look(arguments: list[str], folder: Path, name: str) -> Look:
    """Runs pytest with a memory of failures that is this folder's alone."""
    report = folder / f"{name}.json"
    own = ["-p", "scripts.second_look", f"--look-report={report}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *own, "-o", f"cache_dir={folder}/cache", *arguments]
    )
    # Killed by a signal it has a negative one, and no report.
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if not report.exists():
        return Look(code or FAILED, [], [], ["pytest ended without a report"])
    return Look(code, **json.loads(report.read_text("utf-8")))


def no_second_look(first: Look, reason: str) -> int:
    say(f"\nNo second look: {reason}.")
    return first.code or FAILED


def verdict(first: Look, second: Look) -> int:
    """A failure unless each test that failed has passed now: one that was skipped or not found has not."""
    again = [test for test in first.failed if test not in second.passed or test in second.failed]
    for test in first.failed:
        say(f"{'failed at the second look too' if test in again else 'passed at the second look'}: {test}")
    if second.fault:
        say(f"The second look itself failed: {second.fault}.")
    return FAILED if again or second.fault else 0


def say(words: str) -> None:
    print(words, flush=True)


class Recorder:
    """Notes what becomes of each test, as far as a second look needs it."""

    def __init__(self, report: Path) -> None:
        self._report = report
        self._waiting: dict[str, None] = {}
        self._failed: dict[str, None] = {}
        self._passed: dict[str, None] = {}
        self._broken: list[str] = []

    def pytest_collection_finish(self, session: Any) -> None:
        self._waiting |= {item.nodeid: None for item in session.items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._waiting |= dict.fromkeys(ids)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._waiting.pop(report.nodeid, None)
        if report.when == WORKER_ENDED:
            self._broken.append(f"a worker ended in {report.nodeid}")
        elif report.failed:
            self._failed[report.nodeid] = None
        elif report.when == "call" and report.passed:
            self._passed[report.nodeid] = None

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._broken.append(f"{report.nodeid} could not be collected")

    def pytest_internalerror(self) -> None:
        self._broken.append("pytest itself failed")

    def pytest_sessionfinish(self) -> None:
        if self._waiting:
            self._broken.append(f"tests that were not run: {len(self._waiting)}")
        told = {"failed": list(self._failed), "passed": list(self._passed), "broken": self._broken}
        self._report.write_text(json.dumps(told), "utf-8")


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--look-report", help="where this run tells what failed")


def pytest_configure(config: Any) -> None:
    # Workers tell the process that started them, which tells all.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(config.getoption("--look-report"))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
