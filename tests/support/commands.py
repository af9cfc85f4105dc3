"""Runs the project's own commands in a process of their own, with an environment that is only theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.environment import clean_environment

PROJECT = Path(__file__).resolve().parents[2]


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python ARGUMENTS` in the project's folder; `environment` comes on top of a cleaned one."""
    base = dict(os.environ)
    clean_environment(base)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env=base | environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
