"""The second look, on small projects of its own: what it forgives, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.second_look import MOST
from tests.support.server import PROJECT

FINE = "def test_fine(): pass\n"
ALWAYS = "def test_always(): assert False, 'as ever'\n"
ONCE = """
import pathlib
import pytest
here = pathlib.Path(__file__).parent

@pytest.mark.parametrize("kind", ["[odd] / ü", "plain"])
def test_once(kind):
    mark = here / f"seen-{len(kind)}"
    seen = mark.exists()
    mark.touch()
    assert seen or kind == "plain"
"""
ONCE_IN_SETUP = """
import pathlib
import pytest
mark = pathlib.Path(__file__).parent / "seen"

@pytest.fixture
def late():
    seen = mark.exists()
    mark.touch()
    assert seen

def test_late(late): pass
"""
ONCE_THEN_SKIPPED = """
import pathlib
import pytest
mark = pathlib.Path(__file__).parent / "seen"

def test_gone():
    if mark.exists():
        pytest.skip("not here")
    mark.touch()
    assert False
"""
SKIPPED = "import pytest\n\ndef test_skipped(): pytest.skip('no such machine')\n"
ENDS_ITS_WORKER = "import os\n\ndef test_ends(): os._exit(3)\n"
FAILS_INSIDE = "def pytest_runtest_protocol(item): raise RuntimeError('inside')\n"


ONE_BY_ONE, SIDE_BY_SIDE = "0", "2"


@dataclass(frozen=True, slots=True)
class Run:
    code: int
    lines: list[str]

    @property
    def looked_again(self) -> bool:
        return any(line.startswith("A second look at") for line in self.lines)

    def named(self, verdict: str) -> list[str]:
        """What the last lines say of each test, without its parameters."""
        last = [line for line in self.lines[-5:] if line.startswith(f"{verdict}: ")]
        return [line.removeprefix(f"{verdict}: ").partition("[")[0] for line in last]


def run(folder: Path, workers: str, **files: str) -> Run:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -rs --durations=10\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "scripts.second_look", "-c", str(folder / "pytest.ini"), "-p", "xdist"]
    options = ["--rootdir", str(folder), "--numprocesses", workers, "--dist", "loadfile", str(folder)]
    done = subprocess.run(
        [*command, *options],
        cwd=PROJECT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Run(done.returncode, done.stdout.strip().splitlines())


def test_where_all_is_well_there_is_none(tmp_path: Path) -> None:
    ran = run(tmp_path, ONE_BY_ONE, test_a=FINE, test_b=SKIPPED)
    assert (ran.code, ran.looked_again) == (0, False)


@pytest.mark.parametrize("workers", [ONE_BY_ONE, SIDE_BY_SIDE])
def test_those_that_failed_once_are_named_in_the_last_lines(tmp_path: Path, workers: str) -> None:
    files = {"test_a": FINE, "test_b": ONCE, "test_c": SKIPPED, "test_d": ONCE_IN_SETUP}
    ran = run(tmp_path, workers, **files)
    assert ran.code == 0, ran.lines
    assert sorted(ran.named("passed at the second look")) == ["test_b.py::test_once", "test_d.py::test_late"]
    # Skips and times are those of the first run, in which all took part.
    shown = ran.lines[: ran.lines.index("A second look at what failed (2), alone and one after another:")]
    assert any("no such machine" in line for line in shown)
    assert any("slowest 10 durations" in line for line in shown)


@pytest.mark.parametrize("workers", [ONE_BY_ONE, SIDE_BY_SIDE])
def test_what_does_not_pass_the_second_time_is_a_failure(tmp_path: Path, workers: str) -> None:
    ran = run(tmp_path, workers, test_a=ALWAYS, test_b=ONCE, test_c=ONCE_THEN_SKIPPED)
    assert ran.code == 1
    assert ran.named("passed at the second look") == ["test_b.py::test_once"]
    again = sorted(ran.named("failed at the second look too"))
    assert again == ["test_a.py::test_always", "test_c.py::test_gone"]


def test_one_that_is_skipped_the_second_time_has_not_passed(tmp_path: Path) -> None:
    ran = run(tmp_path, ONE_BY_ONE, test_a=ONCE_THEN_SKIPPED)
    assert ran.code == 1
    assert ran.named("failed at the second look too") == ["test_a.py::test_gone"]


def test_many_failures_get_none(tmp_path: Path) -> None:
    many = "".join(ALWAYS.replace("always", f"always_{number}") for number in range(MOST + 1))
    ran = run(tmp_path, ONE_BY_ONE, test_a=many)
    assert (ran.code, ran.looked_again) == (1, False)
    assert ran.lines[-1] == f"No second look: {MOST + 1} tests failed, more than {MOST}."


@pytest.mark.parametrize(
    ("workers", "files"),
    [
        (ONE_BY_ONE, {"test_a": ENDS_ITS_WORKER}),
        (SIDE_BY_SIDE, {"test_a": ENDS_ITS_WORKER, "test_b": ONCE}),
        (ONE_BY_ONE, {"test_a": "import no_such_module\n", "test_b": ONCE}),
        (SIDE_BY_SIDE, {"test_a": "import no_such_module\n", "test_b": ONCE}),
        (ONE_BY_ONE, {"test_a": FINE, "conftest": FAILS_INSIDE}),
        (SIDE_BY_SIDE, {"test_a": FINE, "conftest": FAILS_INSIDE}),
        (ONE_BY_ONE, {"test_a": FINE, "conftest": "no python"}),
        (ONE_BY_ONE, {"test_a": "x = 1\n"}),
        (SIDE_BY_SIDE, {"test_a": "x = 1\n"}),
    ],
)
def test_what_is_no_failed_test_is_never_forgiven(
    tmp_path: Path, workers: str, files: dict[str, str]
) -> None:
    ran = run(tmp_path, workers, **files)
    assert ran.code != 0
    assert not ran.looked_again
    assert ran.lines[-1].startswith("No second look: ")
