"""daphne's own command, as somebody might start it for production."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.environment import clean_environment
from tests.support.processes import accepts, end, free_port, spawn, tail, wait_for
from tests.support.server import PROJECT


def test_it_is_warned_about_at_its_start(tmp_path: Path) -> None:
    environment = dict(os.environ)
    clean_environment(environment)
    environment |= {"DATA_DIR": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"}
    port, log = free_port(), tmp_path / "daphne.log"
    command = [
        str(Path(sys.executable).with_name("daphne")),
        "--port",
        str(port),
        "albedo_project.asgi:application",
    ]
    process = spawn(command, log, environment, folder=PROJECT)
    try:
        wait_for(lambda: accepts(port) or process.poll() is not None, "daphne")
        assert process.poll() is None, tail(log)
        warnings = [line for line in log.read_text("utf-8").splitlines() if "albedo.W001" in line]
    finally:
        end(process)
    assert len(warnings) == 1
    assert " WARNING albedo_project.checks " in warnings[0]
