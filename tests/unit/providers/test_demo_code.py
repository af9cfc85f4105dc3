"""The program of the demo model, run for real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streaming.providers.demo_code import has_own_code, program_for


@pytest.mark.parametrize("fence", ["```python\n{}\n```", "```py\r\n{}\r\n```", "so: ```Python\n{}```"])
def test_a_fenced_block_is_the_program(fence: str) -> None:
    task = "please run " + fence.format("print(1)")
    assert has_own_code(task)
    assert program_for(task) == "print(1)"


@pytest.mark.parametrize("task", ["```\nprint(1)\n```", "```python\n\n```", "print(1)"])
def test_what_is_no_python_block_is_not_run(task: str) -> None:
    assert not has_own_code(task)
    assert "primes" in program_for(task)


@pytest.mark.parametrize(
    "task", ["sum 3, 4.5 and -2", "", "no words 99999999999999", "quotes ' \" {x} \\d 😀 ''' \"\"\""]
)
def test_its_program_works_on_the_task(task: str, tmp_path: Path) -> None:
    code = program_for(task).replace(
        "from IPython.display import Image, display", "Image = lambda data: data[:4]; display = print"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    assert "primes up to" in done.stdout
    assert "PNG" in done.stdout
    assert task in (tmp_path / "demo-note.md").read_text(encoding="utf-8")
